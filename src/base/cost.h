// Cost: the numbers with which layers, executors and strategies state their cost.
#pragma once

namespace yoke {

/// The resources that a piece of work needs. Costs can be added.
struct Cost {
  double operations = 0;  ///< Floating-point operations (a multiply-add is two).
  double bytes = 0;       ///< Bytes moved between memory and cores.
  double messages = 0;    ///< Messages sent to other ranks.
  double message_bytes = 0;
  double device_bytes = 0;  ///< Bytes copied between the host's memory and a device's.
  double memory = 0;        ///< Bytes that must be held at once.

  Cost& operator+=(const Cost& other) {
    operations += other.operations;
    bytes += other.bytes;
    messages += other.messages;
    message_bytes += other.message_bytes;
    device_bytes += other.device_bytes;
    memory += other.memory;
    return *this;
  }
};

}  // namespace yoke
