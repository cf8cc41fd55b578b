// Spinning of waiting threads. A thread that spins keeps a core from the one that its team waits
// for: beside one busy program on two cores, a spin of 100 microseconds makes steps of small models
// two to three times slower than one of 5 (docs/processors.md). Alone, the short one costs a fifth.
// libgomp reads its spin count when it is loaded, but takes a hundred spins instead as long as it
// has more threads than processors. So a team that only sleeps switches it.
#include "kernels/spin_watch.h"

#include <fmt/core.h>
#include <omp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/processor.h"
#include "base/thread.h"

namespace yoke {
namespace {

/// As libgomp counted them when it was loaded.
const int kProcessorsAtStart = omp_get_num_procs();
const bool kSpinAdapts = std::getenv("YOKE_SPIN") != nullptr;

constexpr std::chrono::milliseconds kBetweenLooks(200);
constexpr int kLeastLooks = 10;  // between two switches, each of which starts or ends threads
// Fractions of the time. A thread that wakes a thousand times a second is held up for 0.5 %.
constexpr double kShared = 0.05, kAlone = 0.02;
constexpr double kRests = 0.1;  // a team that runs for less says nothing of its cores

class SpinWatch {
 public:
  /// It lives on beside its thread when main ends.
  static SpinWatch& Get() {
    static auto* const watch = new SpinWatch;
    return *watch;
  }

  void Add(pid_t thread) {
    const std::lock_guard lock(mutex_);
    hold_ups_.Add(thread);
    if (!std::exchange(begun_, true)) Begin();
  }

 private:
  void Begin() try {
    std::thread([this] { Watch(); }).detach();
  } catch (const std::exception&) {
    // then waiting threads spin for as long as the program set at its start
  }

  /// Until the system refuses the threads that a short spin takes.
  void Watch() try {
    pthread_setname_np(pthread_self(), "spin-watch");
    std::unique_ptr<ShortSpin> spin;
    int looks = kLeastLooks;  // since the last switch
    for (double before = Now();;) {
      std::this_thread::sleep_for(kBetweenLooks);
      const double now = Now();
      const ThreadSeconds most = Look(now - std::exchange(before, now));
      if (++looks < kLeastLooks || SpinsBriefly(spin != nullptr, most) == (spin != nullptr))
        continue;
      looks = 0;
      if (spin)
        spin.reset();
      else
        spin = std::make_unique<ShortSpin>();
    }
  } catch (const std::exception&) {  // threads spin long from now on
  }
  ThreadSeconds Look(double seconds) {
    const std::lock_guard lock(mutex_);
    return hold_ups_.Look(seconds);
  }

  std::mutex mutex_;
  HoldUps hold_ups_;
  bool begun_ = false;
};

}  // namespace

int64_t LongSpin() {
  constexpr int kSpins = 200;
  double least = std::numeric_limits<double>::max();
  std::atomic<int> value = 0;
  for (int i = 0; i < 5; ++i) {  // the system may take the core away meanwhile
    const double began = Now();
    for (int spin = 0; spin < kSpins; ++spin)
      if (value.load(std::memory_order_relaxed) == 0) SpinOnce();
    least = std::min(least, Now() - began);
  }
  constexpr double kLong = 100e-6;
  return std::clamp<int64_t>(std::llround(kLong * kSpins / std::max(least, 1e-9)), 500, 1'000'000);
}

std::optional<ThreadSeconds> SecondsOf(pid_t thread) {
  const std::string path = fmt::format("/proc/self/task/{}/schedstat", thread);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  double running = 0, held_up = 0;  // nanoseconds
  if (!file || std::fscanf(file.get(), "%lf %lf", &running, &held_up) != 2) return {};
  return ThreadSeconds{.running = 1e-9 * running, .held_up = 1e-9 * held_up};
}

ThreadSeconds HoldUps::Look(double seconds) {
  ThreadSeconds most;
  std::erase_if(threads_, [&](Watched& thread) {
    errno = 0;
    const std::optional<ThreadSeconds> now = SecondsOf(thread.id);
    if (!now) return errno == ENOENT || errno == ESRCH;  // else the system has no file to give now
    most.running = std::max(most.running, now->running - thread.before.running);
    most.held_up = std::max(most.held_up, now->held_up - thread.before.held_up);
    thread.before = *now;
    return false;
  });
  return {.running = most.running / seconds, .held_up = most.held_up / seconds};
}

bool SpinsBriefly(bool now, const ThreadSeconds& most) {
  if (most.held_up > kShared) return true;
  return now && (most.held_up > kAlone || most.running < kRests);
}

struct ShortSpin::Held {
  std::latch there{1}, over{1};
};

ShortSpin::ShortSpin() : held_(std::make_unique<Held>()) {
  const int others = kProcessorsAtStart + 1;
  RequireThreads(others, [&] {
    holder_ = std::jthread([others, held = held_.get()] {
      pthread_setname_np(pthread_self(), "short-spin");
      omp_set_dynamic(0);
      std::atomic<int> met = 0;
#pragma omp parallel num_threads(others)
      ++met;
      held->there.count_down();
      held->over.wait();
    });
    held_->there.wait();
  });
}

ShortSpin::~ShortSpin() { held_->over.count_down(); }

void WatchSpin(int size) {
  thread_local bool watched = false;
  if (!kSpinAdapts || size == 1 || std::exchange(watched, true)) return;
  SpinWatch::Get().Add(static_cast<pid_t>(syscall(SYS_gettid)));
}

}  // namespace yoke
