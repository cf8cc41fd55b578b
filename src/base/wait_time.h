// WaitTime: how long to wait, as the standard library takes it.
#pragma once

#include <algorithm>
#include <chrono>

namespace yoke {

/// The library counts in 64 bits of nanoseconds: longer than 30 years is 30 years.
inline std::chrono::duration<double> WaitTime(double seconds) {
  constexpr double kLongest = 1e9;
  return std::chrono::duration<double>(std::min(seconds, kLongest));
}

}  // namespace yoke
