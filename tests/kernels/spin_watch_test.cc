// Spinning of waiting threads: its length, whether threads are held up, and the switch.
#include "kernels/spin_watch.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <limits>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/processor.h"
#include "kernels/support/threads.h"

namespace yoke::spin_watch_test {

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void Compute(double seconds) {
  for (const double until = Now() + seconds; Now() < until;) continue;
}

double ProcessCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(LongSpin, TakesAboutAHundredMicroseconds) {
  const int64_t count = LongSpin();
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < 20; ++i) {
    const double began = Now();
    for (int64_t spin = 0; spin < count; ++spin) SpinOnce();
    least = std::min(least, Now() - began);
  }
  EXPECT_GT(least, 30e-6) << count;
  EXPECT_LT(least, 300e-6) << count;
}

/// A processor that this process may use.
int SomeProcessor() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int processor = 0;
  while (!CPU_ISSET(processor, &set)) ++processor;
  return processor;
}

TEST(HoldUps, SeesThreadsThatShareAProcessor) {
  Compute(0.01);
  if (SecondsOf(ThisThread()).value_or(ThreadSeconds()).running == 0)
    GTEST_SKIP() << "this system does not count the time";
  pid_t id = 0;
  HoldUps hold_ups;
  const auto work = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(SomeProcessor(), &one);
    sched_setaffinity(0, sizeof one, &one);
    Compute(0.4);
  };
  std::thread other(work);
  std::thread watched([&] {
    hold_ups.Add(id = ThisThread());
    const double began = Now();
    work();
    const ThreadSeconds most = hold_ups.Look(Now() - began);
    EXPECT_GT(most.held_up, 0.2);
    EXPECT_GT(most.running, 0);
    EXPECT_LT(most.running + most.held_up, 1.1);
  });
  other.join();
  watched.join();
  while (SecondsOf(id)) std::this_thread::yield();  // the system counts it for a moment
  EXPECT_EQ(hold_ups.Look(0.1).running, 0) << "it has ended";
}

TEST(SpinsBriefly, WhileAThreadIsHeldUp) {
  EXPECT_FALSE(SpinsBriefly(false, {.running = 1, .held_up = 0.01}));
  EXPECT_TRUE(SpinsBriefly(false, {.running = 1, .held_up = 0.1}));
  EXPECT_TRUE(SpinsBriefly(true, {.running = 1, .held_up = 0.03})) << "does not go to and fro";
  EXPECT_FALSE(SpinsBriefly(true, {.running = 1, .held_up = 0.01}));
  EXPECT_TRUE(SpinsBriefly(true, {.running = 0.01, .held_up = 0})) << "a team that rests";
}

/// CPU seconds of a team that waits for its first thread `count` times.
double SecondsOfWaiting(int count) {
  const double before = ProcessCpuSeconds();
  for (int i = 0; i < count; ++i) {
#pragma omp parallel num_threads(2)
    omp_get_thread_num();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ProcessCpuSeconds() - before;
}

TEST(ShortSpin, LetsWaitingThreadsSleep) {
  const Threads threads(2);
  if (threads.team() < 2 || omp_get_num_procs() < 2)
    GTEST_SKIP() << "a team of two on two processors spins long";
  constexpr int kCount = 200;
  SecondsOfWaiting(kCount);
  const double before = SecondsOfWaiting(kCount);
  double meanwhile = 0;
  {
    const ShortSpin spin;
    meanwhile = SecondsOfWaiting(kCount);
  }
  EXPECT_LT(meanwhile, 0.7 * before);
  EXPECT_LT(meanwhile, 0.7 * SecondsOfWaiting(kCount)) << "until it ends";
}

}  // namespace yoke::spin_watch_test
