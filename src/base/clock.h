// Clock: seconds since a fixed moment, monotonic, those of a thread's work, and those to wait.
#pragma once

#include <chrono>
#include <ctime>

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

}  // namespace yoke
