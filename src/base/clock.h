// Clock: seconds since a fixed moment, monotonic, those of a thread's work, of laps, and to wait.
#pragma once

#include <chrono>
#include <ctime>
#include <utility>

namespace yoke {

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that this thread has had a core: they do not grow while others have it.
inline double ThreadCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// How long to wait, as the standard library takes it, which counts in 64 bits of nanoseconds:
/// longer than 30 years is 30 years.
inline std::chrono::duration<double> WaitTime(double seconds) {
  constexpr double kLongest = 1e9;
  return std::chrono::duration<double>(kLongest < seconds ? kLongest : seconds);
}

/// Seconds of one part of a step after the other.
class LapTimer {
 public:
  /// Since the last lap, or since it was made.
  double Seconds() {
    const double before = std::exchange(at_, Now());
    return at_ - before;
  }
  void Lap(double& part) { part += Seconds(); }

 private:
  double at_ = Now();
};

}  // namespace yoke
