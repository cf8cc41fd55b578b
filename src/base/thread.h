// Threads, which the system may refuse: a limit on processes (`ulimit -u`, a container's) counts
// them, and each takes memory for its stack.
#pragma once

#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/denormals.h"

namespace yoke {

/// Throws Error that says how many of the threads wanted were refused, and what to do.
[[noreturn]] void RefuseThreads(int refused, int wanted);

/// Held while threads are started.
std::mutex& StartingThreads();

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

}  // namespace yoke
