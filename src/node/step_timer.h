// StepTimer: repeats a step and tells the typical one from those that other programs disturbed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace yoke {

/// Collects the times of equal steps over several visits, so that slow phases of a machine that is
/// shared spread over all that is measured.
class StepTimer {
 public:
  explicit StepTimer(std::function<void()> step) : step_(std::move(step)) {}

  /// Warms up, then times steps for about `seconds`, at least `least` of them.
  void Visit(double seconds, int least = 1);
  /// The median of the mean seconds a step of each run; a run is about 30 ms of steps.
  double Seconds() const;
  /// Half the distance of the 16th and 84th percentile of the logarithm of single steps.
  double Sigma() const;
  int64_t steps() const { return static_cast<int64_t>(times_.size()); }

 private:
  double Once() const;

  std::function<void()> step_;
  std::vector<double> times_;  // of single steps
  std::vector<double> runs_;   // their means
};

}  // namespace yoke
