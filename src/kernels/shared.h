// Shared: numbers that other threads read and write at the same time, without a lock.
// optim/racing.h says why that is harmless; here the thread sanitizer is told so.
#pragma once

#include <cstdint>

namespace yoke {

/// y += a x, over n numbers; y is shared.
[[gnu::no_sanitize("thread")]] inline void AddShared(float* __restrict y, float a,
                                                     const float* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

/// Copies n numbers; one side or both are shared.
[[gnu::no_sanitize("thread")]] inline void CopyShared(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// Rows of a shared matrix are written in so many parts, one after the other. Threads begin with
/// different ones, the first two far apart: where two write the same rows at the same time, each
/// line of memory goes back and forth between their caches, and two that have met stay together
/// (measured: down to a third of the speed).
inline constexpr int kSharedParts = 4;
inline int FirstPart(int writer) { return (2 * writer + writer / 2) % kSharedParts; }

}  // namespace yoke
