// Countdown: a wait ends after its seconds, and a stop of the process counts as one slice of them.
// What a stopped run does is in tests/cli/pause_test.py.
#include "base/countdown.h"

#include <gtest/gtest.h>

namespace yoke::countdown_test {

TEST(RunningTime, CountsWhatIsBetweenTwoLooksAsASliceAtMost) {
  RunningTime ran(0.5, 100);
  EXPECT_DOUBLE_EQ(ran.Look(100.25), 0.25);
  EXPECT_DOUBLE_EQ(ran.Look(1000), 0.75);
  EXPECT_DOUBLE_EQ(ran.Look(1000.25), 1);
}

TEST(Countdown, IsOverAfterItsSeconds) {
  const double began = Now();
  Countdown left(0.05);
  while (!left.Over()) continue;
  EXPECT_GE(Now() - began, 0.05 - 1e-9);  // sums of many looks are rounded
  EXPECT_GE(left.Waited(), 0.05);
  EXPECT_TRUE(Countdown(0).Over());
}

TEST(Countdown, WaitForEndsWithWhatItWaitsForOrItsSeconds) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  EXPECT_TRUE(WaitFor(changed, lock, 1e300, [] { return true; }));
  EXPECT_TRUE(WaitFor(changed, lock, 0, [] { return true; }));
  int asked = 0;
  EXPECT_FALSE(WaitFor(changed, lock, 0.05, [&asked] { return ++asked < 0; }));
  EXPECT_GT(asked, 1);
}

}  // namespace yoke::countdown_test
