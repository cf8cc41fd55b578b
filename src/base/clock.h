// Clock: seconds since a fixed moment, monotonic.
#pragma once

#include <chrono>

namespace yoke {

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace yoke
