// DeviceWork: one device's part of a node's training.
#pragma once

#include <cstdint>
#include <string>

namespace yoke {

/// What a device has done since the start of training.
struct DeviceWork {
  std::string name;
  int64_t examples = 0;
  int64_t updates = 0;  ///< Updates of the values, or gradients that went into one.
  double busy = 0;      ///< Fraction of the executor's time in which it computed.
};

}  // namespace yoke
