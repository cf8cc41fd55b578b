// Threads, which the system may refuse: a limit on processes (`ulimit -u`, a container's) counts
// them, and each takes memory for its stack.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace yoke {

/// Throws Error that says how many of the threads wanted were refused, and what to do.
[[noreturn]] void RefuseThreads(int refused, int wanted);

/// Starts a thread (a std::thread or a std::jthread). Throws Error where the system refuses it.
template <typename Thread = std::thread, typename Work>
Thread StartThread(Work&& work) {
  try {
    return Thread(std::forward<Work>(work));
  } catch (const std::system_error&) {
    RefuseThreads(1, 1);
  }
}

/// Throws Error unless the system lets this process start so many further threads; it starts and
/// ends them. To be asked before a library needs them that ends the process itself when it is
/// refused one (libgomp).
void RequireThreads(int count);

}  // namespace yoke
