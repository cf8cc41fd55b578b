// ParallelFor: splits a range over plain threads (data preparation; kernels use OpenMP's team).
#pragma once

#include <cstdint>
#include <functional>

namespace yoke {

/// Calls body(begin, end) for disjoint ranges covering [0, n) on up to `threads` threads and waits.
/// The first exception thrown by a body is thrown again here.
void ParallelFor(int64_t n, int threads, const std::function<void(int64_t, int64_t)>& body);

/// Cores this process may use: affinity mask and cgroup quota, at least 1.
int UsableCores();
/// Cores granted by the control group's quota; 0 when there is no limit.
int QuotaCores();

}  // namespace yoke
