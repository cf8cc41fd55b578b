// RequireThreads: threads that do nothing, all there at the same time. Denormals: base/processor.h.
#include "base/thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/processor.h"

namespace yoke {
namespace {

/// Threads that wait.
class IdleThreads {
 public:
  ~IdleThreads() {
    end_.count_down();
    threads_.clear();  // joins them
    for (const pid_t id : ids_) AwaitEnd(id);
  }
  IdleThreads() = default;
  IdleThreads(const IdleThreads&) = delete;
  IdleThreads& operator=(const IdleThreads&) = delete;

  /// As many of them as the system allows.
  int Start(int count) {
    threads_.reserve(count);
    ids_.resize(count);
    try {
      for (int i = 0; i < count; ++i)
        threads_.emplace_back([this, i] {
          ids_[i] = static_cast<pid_t>(syscall(SYS_gettid));
          end_.wait();
        });
    } catch (const std::exception&) {  // no thread, or no memory for one; those that wait must end
    }
    return static_cast<int>(threads_.size());
  }

 private:
  /// The system still counts a thread for a moment after it has been joined.
  static void AwaitEnd(pid_t id) {
    while (id > 0 && syscall(SYS_tgkill, getpid(), id, 0) == 0) std::this_thread::yield();
  }

  std::latch end_{1};
  std::vector<pid_t> ids_;
  std::vector<std::jthread> threads_;
};

uint32_t Modes() { return static_cast<uint32_t>(FloatingPointModes()); }

}  // namespace

void RefuseThreads(int refused, int wanted) {
  throw Error(
      fmt::format("the system refuses this process {} of {} additional thread{}: use fewer "
                  "replicas or threads, "
                  "or raise its limit of processes (`ulimit -u`, a container's limit) or memory",
                  refused, wanted, wanted == 1 ? "" : "s"));
}

std::mutex& StartingThreads() {
  static std::mutex mutex;
  return mutex;
}

void RequireThreads(int count, const std::function<void()>& take) {
  const std::lock_guard lock(StartingThreads());
  if (count > 0)
    if (const int started = IdleThreads().Start(count); started < count)
      RefuseThreads(count - started, count);
  if (take) take();
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

uint32_t FlushDenormals() {
  const uint32_t before = Modes();
  SetArithmeticModes(before | kFlushingModes);
  return before;
}

void ComputeAs(uint32_t before) {
  SetArithmeticModes((Modes() & ~kFlushingModes) | (before & kFlushingModes));
}

bool FlushesDenormals() { return (Modes() & kFlushingModes) == kFlushingModes; }

}  // namespace yoke
