// StepTimer: repeats a step and tells the typical one from those that other programs disturbed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/stop.h"

namespace yoke {

/// Collects the times of equal steps over several visits, so that slow phases of a machine that is
/// shared spread over all that is measured.
class StepTimer {
 public:
  /// `prepare` is called before each step and not timed. The clock gives seconds. `stop` (may be
  /// null): when it becomes nonzero, a visit ends after one timed step, or at once if there is one.
  StepTimer(std::function<void()> prepare, std::function<void()> step,
            std::function<double()> clock = Now, const std::atomic<int>* stop = nullptr)
      : prepare_(std::move(prepare)),
        step_(std::move(step)),
        clock_(std::move(clock)),
        stop_(stop) {}

  /// Warms up, then times steps for about `seconds`, at least `least` of them; from 0.1 s on,
  /// `enough` of them end it sooner.
  void Visit(double seconds, int least = 1, int enough = 300);
  /// The median of the mean seconds a step of each run; a run is about 30 ms of steps.
  double Seconds() const;
  /// Standard deviation of the logarithm of a step, from those of neighbours: half the distance of
  /// the 16th and 84th percentile of their difference, divided by the root of 2. Slow changes are
  /// not in it.
  double Sigma() const;
  int64_t steps() const { return static_cast<int64_t>(times_.size()); }

 private:
  double Once() const;
  bool Stopped() const { return StopIsAsked(stop_); }

  std::function<void()> prepare_, step_;
  std::function<double()> clock_;
  const std::atomic<int>* stop_;
  std::vector<double> times_;  // of single steps
  std::vector<double> runs_;   // their means
};

}  // namespace yoke
