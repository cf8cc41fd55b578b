// Countdown: a wait of at most so many seconds, of which those do not count in which this process
// was stopped (SIGSTOP, Ctrl-Z, a frozen container).
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace yoke {

/// Seconds in which this process ran. A process does not learn how long it was stopped, so the
/// owner looks at least once a slice, and what is longer between two looks counts as one slice.
class RunningTime {
 public:
  RunningTime(double slice, double now) : slice_(slice), looked_(now) {}

  /// Seconds so far; `now` by the clock of the first look.
  double Look(double now) {
    seconds_ += std::min(now - looked_, slice_);
    looked_ = now;
    return seconds_;
  }
  double seconds() const { return seconds_; }  ///< At the last look.
  double slice() const { return slice_; }

 private:
  double slice_, looked_, seconds_ = 0;
};

class Countdown {
 public:
  explicit Countdown(double seconds)
      : seconds_(seconds), ran_(std::max(seconds / kSlices, kShortestSlice), Now()) {}

  /// Whether the seconds are over; call it at least as often as Slice() says.
  bool Over() { return ran_.Look(Now()) >= seconds_; }
  /// How long to wait before the next look.
  std::chrono::duration<double> Slice() const {
    return WaitTime(std::clamp(seconds_ - ran_.seconds(), 0.0, ran_.slice()));
  }
  double Waited() const { return ran_.seconds(); }  ///< At the last look.

 private:
  static constexpr double kSlices = 100, kShortestSlice = 0.02;

  double seconds_;
  RunningTime ran_;
};

/// Waits until `done()`, which is called with the lock held, is true; false when the seconds are
/// over.
template <typename Done>
bool WaitFor(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, double seconds,
             const Done& done) {
  Countdown left(seconds);
  while (!changed.wait_for(lock, left.Slice(), done))
    if (left.Over()) return done();
  return true;
}

}  // namespace yoke
