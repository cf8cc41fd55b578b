// DeviceTimes: what each device has done, and for how much of the time, for checkpoints and the
// run's record.
#pragma once

#include <string>
#include <vector>

#include "base/kept.h"
#include "node/executor.h"

namespace yoke {

class DeviceTimes {
 public:
  explicit DeviceTimes(const std::vector<Device*>& devices) {
    for (const Device* device : devices) work_.push_back({.name = device->name()});
    busy_.resize(devices.size());
  }
  void Count(size_t device, int64_t examples, int64_t updates, double busy_seconds) {
    work_[device].examples += examples;
    work_[device].updates += updates;
    busy_[device] += busy_seconds;
  }
  void Passed(double seconds) { seconds_ += seconds; }

  /// Empty for a single device.
  std::vector<DeviceWork> Work() const {
    if (work_.size() < 2) return {};
    std::vector<DeviceWork> work = work_;
    for (size_t i = 0; i < work.size(); ++i) work[i].busy = seconds_ > 0 ? busy_[i] / seconds_ : 0;
    return work;
  }

  /// Counts by device, for a checkpoint; seconds start anew. Devices that have gone are dropped.
  Value State() const {
    Table state;
    for (const DeviceWork& work : work_)
      state.push_back({work.name, Table{{"examples", work.examples}, {"updates", work.updates}}});
    return state;
  }
  void Restore(const Value& state) {
    for (DeviceWork& work : work_)
      if (const Value* const kept = state.Find(work.name)) {
        ReadKept(*kept, "examples", work.examples);
        ReadKept(*kept, "updates", work.updates);
      }
  }

 private:
  std::vector<DeviceWork> work_;
  std::vector<double> busy_;  // seconds
  double seconds_ = 0;
};

}  // namespace yoke
