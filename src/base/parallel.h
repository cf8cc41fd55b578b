// ParallelFor: divides a range among plain threads (for data preparation; kernels use OpenMP).
#pragma once

#include <cstdint>
#include <functional>

namespace yoke {

/// Calls body(begin, end) for disjoint ranges covering [0, n) on up to `threads` threads and waits.
/// Rethrows the first exception.
void ParallelFor(int64_t n, int threads, const std::function<void(int64_t, int64_t)>& body);

/// Number of cores this process may use, by affinity mask and cgroup quota; at least 1.
int UsableCores();
/// Number of cores allowed by the cgroup quota; 0: no limit.
int QuotaCores();

}  // namespace yoke
