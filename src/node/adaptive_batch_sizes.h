// BatchSizes: how many examples each device takes at a time, fixed or balanced by the counts of
// updates (Adaptive Hogbatch: Ma and Rusu, 2020).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/value.h"

namespace yoke {

/// When device E asks for work, with u_i the updates of device i so far:
///   u_E < min over the others:  b_E <- max(b_E / alpha, least_E)   it is behind: smaller batches
///   u_E > max over the others:  b_E <- min(b_E * alpha, most_E)    it is ahead: larger ones
/// An update of a CPU thread counts `beta`, any other 1. The threads of the CPU are one device: it
/// asks once for as many batches as it has threads, and they all have one size.
class BatchSizes {
 public:
  struct Limits {
    int64_t least = 1, most = 1;
    bool cpu = false;
    int workers = 1;  ///< Threads of the CPU.
  };
  struct Settings {
    std::vector<Limits> limits =
        {};  ///< By device. CPU threads start at `least`, others at `most`.
    bool adaptive = false;
    double alpha = 2;
    double beta = 1;
  };

  explicit BatchSizes(const Settings& settings)
      : s_(settings), asked_(s_.limits.size()), updates_(s_.limits.size()) {
    for (const Limits& limits : s_.limits)
      sizes_.push_back(limits.cpu ? limits.least : limits.most);
  }

  int64_t of(size_t device) const { return sizes_[device]; }
  const std::vector<int64_t>& all() const { return sizes_; }
  int64_t most(size_t device) const { return s_.limits[device].most; }
  void SetLeast(size_t device, int64_t least) {
    s_.limits[device].least = least;
    sizes_[device] = std::max(sizes_[device], least);
  }

  /// The size of the device's next batch. It changes at most once in `workers` requests, whoever
  /// asks.
  int64_t Next(size_t device) const {
    return asked_[device] % s_.limits[device].workers == 0 ? Adapted(device) : sizes_[device];
  }
  /// The device takes a batch of the size that Next() gave.
  void Take(size_t device, int64_t next) {
    sizes_[device] = next;
    ++asked_[device];
  }
  /// The next size, which the device takes.
  int64_t Ask(size_t device) {
    Take(device, Next(device));
    return sizes_[device];
  }
  void Updated(size_t device, int64_t updates) {
    updates_[device] += double(updates) * (s_.limits[device].cpu ? s_.beta : 1);
  }

  /// `least`: with the least batch.
  Value State(size_t device, bool least = true) const {
    Table state = {{"size", sizes_[device]}};
    if (least) state.emplace_back("least", s_.limits[device].least);
    state.emplace_back("updates", updates_[device]);
    if (s_.adaptive) state.emplace_back("asked", asked_[device]);
    return state;
  }
  void Restore(size_t device, const Value& state) {
    Limits& limits = s_.limits[device];
    ReadSaved(state, "least", limits.least);
    limits.least = std::clamp<int64_t>(limits.least, 1, limits.most);
    ReadSaved(state, "size", sizes_[device]);
    sizes_[device] = std::clamp(sizes_[device], limits.least, limits.most);
    ReadSaved(state, "asked", asked_[device]);
    ReadSaved(state, "updates", updates_[device]);
  }

 private:
  int64_t Adapted(size_t device) const {
    const int64_t size = sizes_[device];
    if (!s_.adaptive || sizes_.size() < 2) return size;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (size_t i = 0; i < updates_.size(); ++i)
      if (i != device) least = std::min(least, updates_[i]), most = std::max(most, updates_[i]);
    const Limits& limits = s_.limits[device];
    const auto now = static_cast<double>(size);
    if (updates_[device] < least)
      return std::max(static_cast<int64_t>(now / s_.alpha), limits.least);
    if (updates_[device] > most)
      return std::min(static_cast<int64_t>(std::ceil(now * s_.alpha)), limits.most);
    return size;
  }

  Settings s_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> asked_;  ///< Batches that workers of the device have asked for.
  std::vector<double> updates_;
};

/// Batches that a CPU thread takes at once, which are short, so that messages cost little.
inline int64_t BatchesPerRequest(double seconds_a_batch) {
  constexpr double kRequest = 1e-3;  // seconds of work
  constexpr int64_t kMostBatches = 64;
  if (seconds_a_batch <= 0) return 1;  // not known yet
  return std::clamp<int64_t>(static_cast<int64_t>(kRequest / seconds_a_batch), 1, kMostBatches);
}

/// The least batch of a device: the smallest half, quarter, ... of `most` at which it still
/// computes at half of its speed. `seconds(size)` measures it.
template <class Seconds>
int64_t LeastBatch(int64_t most, const Seconds& seconds) {
  constexpr int kHalvings = 6;
  double full = 0;
  int64_t least = 1, size = most;
  for (int halving = 0; halving <= kHalvings && size > 0; ++halving, size /= 2) {
    const double speed = double(size) / std::max(seconds(size), 1e-9);
    full = std::max(full, speed);
    if (speed < full / 2) break;
    least = size;
  }
  return least;
}

}  // namespace yoke
