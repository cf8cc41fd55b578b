// Shared: values that other threads read and write at the same time, without a lock. optim/racing.h
// explains why this is harmless; these functions are exempt from the thread sanitizer.
#pragma once

#include <cstdint>

namespace yoke {

/// y += a x, for n elements; y is shared.
[[gnu::no_sanitize("thread")]] inline void AddShared(float* __restrict y, float a,
                                                     const float* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

/// Copies n elements; one or both sides are shared.
[[gnu::no_sanitize("thread")]] inline void CopyShared(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// Number of parts in which the rows of a shared matrix are written. Threads start with different
/// parts, the first two far apart. When two threads write the same rows at the same time, cache
/// lines bounce between their caches, and the threads stay in step from then on (measured: down to
/// a third of the speed).
inline constexpr int kSharedParts = 4;
inline int FirstPart(int writer) { return (2 * writer + writer / 2) % kSharedParts; }

}  // namespace yoke
