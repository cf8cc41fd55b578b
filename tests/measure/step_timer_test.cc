// StepTimer: what it times, and how much it says that equal steps vary.
#include "measure/step_timer.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/clock.h"

namespace yoke::step_timer_test {

void Spin(double seconds) {
  for (const double end = Now() + seconds; Now() < end;) {
  }
}

TEST(StepTimer, TimesTheStepAndNotItsPreparation) {
  int prepared = 0, stepped = 0;
  StepTimer timer(
      [&] {
        ++prepared;
        Spin(0.002);
      },
      [&] {
        ++stepped;
        Spin(0.001);
      });
  timer.Visit(0.05);
  EXPECT_GE(timer.Seconds(), 0.001);
  EXPECT_EQ(prepared, stepped);
  EXPECT_GT(stepped, timer.steps());  // it has warmed up
  const int64_t before = timer.steps();
  timer.Visit(0, 60);
  EXPECT_GE(timer.steps(), before + 60);
}

TEST(StepTimer, SlowChangesAreNoJitter) {
  double now = 0, seconds = 0.001;  // a clock that no other program disturbs
  StepTimer drifts([] {}, [&] { now += seconds *= 1.001; }, [&] { return now; });
  drifts.Visit(0.3);
  bool odd = false;
  StepTimer varies([] {}, [&] { now += (odd = !odd) ? 0.001 : 0.002; }, [&] { return now; });
  varies.Visit(0.3);
  EXPECT_LT(drifts.Sigma(), 0.001);
  EXPECT_GT(varies.Sigma(), 0.3);
}

TEST(StepTimer, AStopEndsAVisitAfterOneStep) {
  double now = 0;
  std::atomic<int> stop = 0;
  StepTimer timer([] {}, [&] { now += 1, stop = now >= 5; }, [&] { return now; }, &stop);
  timer.Visit(100);
  EXPECT_EQ(now, 5);
  timer.Visit(100, 3);
  EXPECT_EQ(now, 5);
  StepTimer late([] {}, [&] { now += 1; }, [&] { return now; }, &stop);
  late.Visit(100, 3);
  EXPECT_EQ(late.steps(), 1);
}

}  // namespace yoke::step_timer_test
