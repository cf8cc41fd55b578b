// ParallelFor over plain threads; how many cores this process may use.
#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/control_group.h"

namespace yoke {
namespace {

int AffinityCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int QuotaCores() {
  const double cores = FindGroupLimits().cores;
  return std::isfinite(cores) ? std::max(1, static_cast<int>(std::lround(cores))) : 0;
}

int UsableCores() {
  const int affinity = std::max(1, AffinityCores());
  const int quota = QuotaCores();
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

void ParallelFor(int64_t n, int threads, const std::function<void(int64_t, int64_t)>& body) {
  const int64_t parts = std::clamp<int64_t>(threads, 1, std::max<int64_t>(n, 1));
  if (parts == 1) {
    if (n > 0) body(0, n);
    return;
  }
  std::exception_ptr first;
  std::mutex mutex;
  auto run = [&](int64_t part) {
    try {
      body(n * part / parts, n * (part + 1) / parts);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> team;
    int64_t part = 1;
    try {
      for (; part < parts; ++part) team.emplace_back(run, part);
    } catch (const std::system_error&) {
    }
    for (; part < parts; ++part) run(part);  // those for which the system gives no thread
    run(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace yoke
