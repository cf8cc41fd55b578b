// Spinning of waiting threads: long while a team has its cores for itself, short while other work
// holds them up.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace yoke {

/// The spins of a waiting thread that take about 100 microseconds on this processor.
int64_t LongSpin();

/// Seconds of a thread on a core, and ready to run while others held the cores.
struct ThreadSeconds {
  double running = 0, held_up = 0;
};
/// Of a thread of this process; nothing if it has ended, or the system does not count them.
std::optional<ThreadSeconds> SecondsOf(pid_t thread);

/// While it lives, this process's waiting threads sleep after some microseconds: libgomp spins
/// little while it has more threads than processors, and here are as many more. They sleep.
class ShortSpin {
 public:
  ShortSpin();  ///< Throws Error if the system refuses the threads.
  ~ShortSpin();
  ShortSpin(const ShortSpin&) = delete;
  ShortSpin& operator=(const ShortSpin&) = delete;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
  std::jthread holder_;  // last: it uses the other
};

/// Some threads, look by look.
class HoldUps {
 public:
  void Add(pid_t thread) {
    threads_.push_back({thread, SecondsOf(thread).value_or(ThreadSeconds())});
  }
  /// The largest fractions of the `seconds` since the last look for which one of them ran, and one
  /// was held up. Forgets threads that have ended.
  ThreadSeconds Look(double seconds);

 private:
  struct Watched {
    pid_t id;
    ThreadSeconds before;
  };
  std::vector<Watched> threads_;
};

/// Whether waiting threads should spin briefly after a look, if they do now.
bool SpinsBriefly(bool now, const ThreadSeconds& most);

/// Every thread of a team of `size` calls it, from then on a thread of this process watches whether
/// others hold it up, and shortens the spinning meanwhile. Does nothing without YOKE_SPIN in the
/// environment, which programs of ours set where it does not say how threads wait.
void WatchSpin(int size);

}  // namespace yoke
