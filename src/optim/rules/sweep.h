// Sweep: one pass over the numbers of a span, shared by the update rules.
#pragma once

#include <omp.h>

#include <cstdint>

namespace yoke {

/// Below this many numbers a team of threads costs more than it saves.
inline constexpr int64_t kParallelCount = 1 << 14;

/// Calls body(i) once for each i in [0, count), in any order: vectorized, and on all threads of the
/// caller's team when there is enough to do. Thread t always gets the same part, which therefore
/// stays in its cache.
template <typename Body>
void Sweep(int64_t count, Body body) {
  if (count < kParallelCount || omp_in_parallel()) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) body(i);
  } else {
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < count; ++i) body(i);
  }
}

}  // namespace yoke
