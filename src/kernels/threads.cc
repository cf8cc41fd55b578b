// Threads of kernels, by OpenMP's rule: a team belongs to the thread that calls.
#include "kernels/threads.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace yoke {

void SetKernelThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

int KernelThreads() { return omp_get_max_threads(); }

void WaitBriefly(char** words) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);  // about 40 microseconds
  execv("/proc/self/exe", words);       // returns only on failure: then waiting is merely slower
}

}  // namespace yoke
