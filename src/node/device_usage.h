// DeviceUsage: what each device has done, and for how much of the time, for checkpoints and the
// run's record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"
#include "tensor/device.h"

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

class DeviceUsage {
 public:
  /// A piece of work that is done.
  struct Piece {
    int64_t examples = 0, updates = 0;
    double busy_seconds = 0;
    int64_t missed = 0;       ///< Updates by others between its reads and writes, in all.
    int64_t most_missed = 0;  ///< By one update.
  };

  explicit DeviceUsage(const std::vector<Device*>& devices) {
    for (const Device* device : devices) work_.push_back({.name = device->name()});
    since_.resize(devices.size());
  }
  void Count(size_t device, const Piece& piece) {
    work_[device].examples += piece.examples;
    work_[device].updates += piece.updates;
    Session& since = since_[device];
    since.busy += piece.busy_seconds;
    since.examples += piece.examples;
    since.updates += piece.updates;
    since.missed += piece.missed;
    work_[device].most_stale = std::max(work_[device].most_stale, piece.most_missed);
  }
  void Passed(double seconds) { seconds_ += seconds; }

  /// Examples per second while it was busy; 0: not known yet.
  double Speed(size_t device) const {
    const Session& since = since_[device];
    return since.busy > 0 ? double(since.examples) / since.busy : 0;
  }
  int64_t updates(size_t device) const { return work_[device].updates; }

  /// Empty for a single device.
  std::vector<DeviceWork> Work() const {
    if (work_.size() < 2) return {};
    std::vector<DeviceWork> work = work_;
    for (size_t i = 0; i < work.size(); ++i) {
      if (seconds_ > 0) work[i].busy = since_[i].busy / seconds_;
      if (since_[i].updates > 0) work[i].staleness = since_[i].missed / double(since_[i].updates);
    }
    return work;
  }

  /// Counts by device, for a checkpoint; seconds and staleness start anew. Devices that have gone
  /// are dropped.
  Value State() const {
    Table state;
    for (const DeviceWork& work : work_)
      state.push_back({work.name, Table{{"examples", work.examples}, {"updates", work.updates}}});
    return state;
  }
  void Restore(const Value& state) {
    for (DeviceWork& work : work_)
      if (const Value* const saved = state.Find(work.name)) {
        ReadSaved(*saved, "examples", work.examples);
        ReadSaved(*saved, "updates", work.updates);
      }
  }

 private:
  struct Session {
    double busy = 0;  // seconds
    int64_t examples = 0, updates = 0;
    double missed = 0;
  };
  std::vector<DeviceWork> work_;
  std::vector<Session> since_;  // the session began, by device
  double seconds_ = 0;
};

}  // namespace yoke
