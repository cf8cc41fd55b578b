// Threads of kernels: each calling thread has an OpenMP team of its own, of the size it sets here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace yoke {

/// Sets how many threads kernels called by this thread use. Throws Error where they are refused.
void SetKernelThreads(int threads);
/// How many threads kernels called by this thread use.
int KernelThreads();

/// Calls body(i) for each i in [0, count): a thread of the caller's team takes one i after the
/// other, kernels in body having that thread alone. Where there are fewer i than threads they come
/// in order instead, each with the whole team. The first exception of a body is thrown again here.
void ForEachOnTeam(int64_t count, const std::function<void(int64_t)>& body);
/// Which of the team's threads this is, from 0; below KernelThreads() of the team's caller.
int TeamThread();

/// To be called first in main with its arguments: lets waiting threads give up their core soon.
/// libgomp reads how long to spin when it is loaded, so the program starts itself once more with
/// that in its environment, unless the caller already chose (GOMP_SPINCOUNT, OMP_WAIT_POLICY).
/// Where other programs share the cores, spinning at length made LeNet's steps 4 to 20 times slower
/// (measured).
void WaitBriefly(char** words);

/// What the kernel library says about itself, for `doctor`.
struct KernelLibrary {
  std::string name;        ///< "oneDNN"
  std::string version;     ///< "3.2.0"
  std::string isa;         ///< The instruction set in effect: "avx512_core_bf16".
  bool fast_bf16 = false;  ///< The CPU multiplies bf16 faster than f32.
};
KernelLibrary DescribeKernelLibrary();

}  // namespace yoke
