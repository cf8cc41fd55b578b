// Threads of kernels, by OpenMP's rule: a team belongs to the thread that calls.
#include "kernels/threads.h"

#include <omp.h>

#include <algorithm>

namespace yoke {

void SetKernelThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

int KernelThreads() { return omp_get_max_threads(); }

}  // namespace yoke
