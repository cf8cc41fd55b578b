// Kernel threads: each calling thread has its own OpenMP team, with the size that it sets here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace yoke {

/// While it lives, this thread and its team flush denormals (base/thread.h), as threads of ours
/// always do; afterwards they are as before. For a thread that others may own.
class FlushScope {
 public:
  FlushScope();  ///< Throws Error if the system refuses the team's threads.
  ~FlushScope();
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;

 private:
  bool flushed_;
  int dynamic_;  // OpenMP's setting
  uint32_t before_;
};

/// Sets the number of threads for kernels called by this thread. They flush denormals if it does.
/// Throws Error if the system refuses them.
void SetKernelThreads(int threads);
/// The number of threads for kernels called by this thread.
int KernelThreads();
/// Sets it to what KernelThreads has returned: for tasks that take turns on this thread, each with
/// its own number. The system is not asked for threads.
void RestoreKernelThreads(int threads);

/// Calls body(i) for each i in [0, count). The threads of the caller's team take one i after the
/// other, and kernels in body use only that thread. Rethrows the first exception.
void ForEachOnTeam(int64_t count, const std::function<void(int64_t)>& body);
/// Whether more than a quarter of the team's time would pass in waiting if it took `count` equal
/// parts: then smaller ones pay.
bool WaitsFor(int64_t count);
/// Index of this thread in its team, from 0 to KernelThreads() - 1.
int TeamThread();

/// What every program of ours does first in main, with main's arguments: freed memory stays with
/// the process, threads wait briefly, denormals are flushed. May restart the program, once.
void BeginProgram(char** words);

/// Restarts a program that has begun so, whatever the environment says of waiting, unless its
/// waiting threads sleep at once. Call it before other threads start or input is read. Throws Error
/// if that fails.
void LetWaitingThreadsSleep();

/// Information about the kernel library, for `doctor`.
struct KernelLibrary {
  std::string name;        ///< "oneDNN"
  std::string version;     ///< "3.2.0"
  std::string isa;         ///< The instruction set in effect: "avx512_core_bf16".
  std::string level;       ///< The same in the words of YOKE_ISA: "avx512_bf16".
  bool limited = false;    ///< YOKE_ISA is set.
  bool fast_bf16 = false;  ///< The CPU multiplies bf16 faster than f32.
};
KernelLibrary DescribeKernelLibrary();

/// Throws UserError if the environment's YOKE_ISA names no level, or one that this processor lacks.
/// The variable (avx2, avx512, avx512_bf16 or amx) lowers what the kernel library and our own loops
/// use; it takes effect before main.
void RequireInstructions();

}  // namespace yoke
