// RequireThreads: threads that do nothing, all there at the same time.
#include "base/thread.h"

#include <exception>
#include <latch>
#include <vector>

#include "base/check.h"

namespace yoke {

void RefuseThreads(int refused, int wanted) {
  throw Error(
      fmt::format("the system refuses this process {} of {} additional thread{}: use fewer "
                  "replicas or threads, "
                  "or raise its limit of processes (`ulimit -u`, a container's limit) or memory",
                  refused, wanted, wanted == 1 ? "" : "s"));
}

void RequireThreads(int count) {
  if (count <= 0) return;
  std::latch all_there(1);
  std::vector<std::jthread> threads;  // their ends are awaited
  threads.reserve(static_cast<size_t>(count));
  try {
    while (static_cast<int>(threads.size()) < count)
      threads.emplace_back([&all_there] { all_there.wait(); });
  } catch (const std::exception&) {  // no thread, or no memory for one; those that wait must end
  }
  all_there.count_down();
  const int started = static_cast<int>(threads.size());
  if (started < count) RefuseThreads(count - started, count);
}

}  // namespace yoke
