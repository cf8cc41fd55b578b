// Threads: starting them, dividing a loop among them, and flushing denormals in them.
// The system may refuse one: a limit on processes (`ulimit -u`, a container's) counts them, and
// each takes memory for its stack. Those that compute flush denormals: numbers below
// 1.2e-38 in f32, each of which costs some processors a hundred cycles. The momentum of a weight
// whose gradient stays 0 sinks to them and stays there: 0.9 times 4 units of the smallest one
// rounds to 4 units. A thread that flushes them takes them as 0 and writes 0 for them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace yoke {

/// Throws Error that says how many of the threads wanted were refused, and what to do.
[[noreturn]] void RefuseThreads(int refused, int wanted);

/// Held while threads are started.
std::mutex& StartingThreads();

/// Lets this thread, and those that it starts from then on, flush denormals (FTZ and DAZ). Returns
/// how it computed before, for ComputeAs.
uint32_t FlushDenormals();
/// Gives the thread back as it was.
void ComputeAs(uint32_t before);
/// Whether this thread flushes them.
bool FlushesDenormals();

/// Starts a thread (a std::thread or a std::jthread) that flushes denormals. Throws Error where the
/// system refuses it.
template <typename Thread = std::thread, typename Work>
Thread StartThread(Work&& work) {
  const std::lock_guard lock(StartingThreads());
  try {
    return Thread([work = std::forward<Work>(work)]() mutable {
      FlushDenormals();
      work();
    });
  } catch (const std::system_error&) {
    RefuseThreads(1, 1);
  }
}

/// Throws Error unless the system lets this process start so many further threads; it starts and
/// ends them. Then calls `take`, which starts them, before StartThread can take one of them. To be
/// asked before a library needs threads that ends the process itself when it is refused one
/// (libgomp).
void RequireThreads(int count, const std::function<void()>& take = {});

/// Calls body(begin, end) for disjoint ranges covering [0, n) on up to `threads` plain threads and
/// waits (for data preparation; kernels use OpenMP). Rethrows the first exception.
void ParallelFor(int64_t n, int threads, const std::function<void(int64_t, int64_t)>& body);

}  // namespace yoke
