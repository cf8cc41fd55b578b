// Cost: how layers, executors and strategies state their cost.
#pragma once

#include <cstdint>
#include <string_view>

namespace yoke {

/// The resources that a piece of work needs. Costs can be added.
struct Cost {
  double operations = 0;  ///< Floating-point operations (a multiply-add is two).
  double bytes = 0;       ///< Bytes moved between memory and cores.
  double kernels = 0;     ///< Kernels that a device starts for it.
  double messages = 0;    ///< Messages sent to other ranks.
  double message_bytes = 0;
  double device_bytes = 0;  ///< Bytes copied between the host's memory and a device's.
  double memory = 0;        ///< Bytes that must be held at once.

  Cost& operator+=(const Cost& other) {
    operations += other.operations;
    bytes += other.bytes;
    kernels += other.kernels;
    messages += other.messages;
    message_bytes += other.message_bytes;
    device_bytes += other.device_bytes;
    memory += other.memory;
    return *this;
  }
};

/// Where work is done, in virtual time. By default: by all of a rank's cores together.
struct WorkPlace {
  std::string_view device = "cpu";  ///< Its name in node.devices.
  int64_t examples = 0;             ///< Of the pass; 0: not a pass over examples.
  /// On the CPU: one thread does it, of so many at work now. 0: all threads together do it.
  int threads = 0;
  /// Where they do it together: in so many teams, each a part of it at the same time.
  int teams = 1;
};

}  // namespace yoke
