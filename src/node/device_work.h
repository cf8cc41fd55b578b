// DeviceWork: one device's part of a node's training.
#pragma once

#include <cstdint>
#include <string>

namespace yoke {

/// What a device has done.
struct DeviceWork {
  std::string name;
  int64_t examples = 0;  ///< Since the run began with these devices, like updates.
  int64_t updates = 0;   ///< Updates of the values, or gradients that went into one.
  /// Fraction of the executor's time, since the session began, in which it worked on a batch,
  /// copies included.
  double busy = 0;
  /// Updates by others between reading the values and writing them, since the session began: the
  /// mean over its updates, and the most. 0 for gradients of one step.
  double staleness = 0;
  int64_t most_stale = 0;
};

}  // namespace yoke
