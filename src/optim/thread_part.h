// The part of a slice that a thread of a team updates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/algorithms.h"

namespace yoke {

/// Elements [begin, end) of `extent`, whole lines of a cache: the first thread has the first ones
/// and so on.
inline std::pair<int64_t, int64_t> ThreadPart(int64_t extent, int64_t thread, int64_t threads) {
  constexpr int64_t kLine = 16;
  const int64_t lines = RoundUp(extent, kLine) / kLine;
  return {kLine * (lines * thread / threads),
          std::min(extent, kLine * (lines * (thread + 1) / threads))};
}

}  // namespace yoke
