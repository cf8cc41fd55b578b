// MeasurePolling and MeasureCrowding: by how much steps are slower beside others, and threads that
// end.
#include "plan/contention.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/check.h"
#include "comm/threads.h"

namespace yoke::contention_test {

/// On three ranks, with steps that take so long beside messages, and 1 s without.
double Measured(double beside, int64_t bytes = 100) {
  double found = -1;
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    const double polling = MeasurePolling(world, {bytes, 1e-3}, 1, [&] {
      world.Sleep(0.01);
      return beside;
    });
    if (world.rank() == 0) found = polling;
  });
  return found;
}

TEST(Polling, IsThePartThatStepsTakeLonger) {
  EXPECT_DOUBLE_EQ(Measured(1.25), 0.2);
  EXPECT_EQ(Measured(1.25, 0), Measured(1.25, 1 << 20));
}

TEST(Polling, IsNoneWhereStepsAreAsFast) {
  EXPECT_EQ(Measured(1), 0);
  EXPECT_EQ(Measured(0.8), 0);
  EXPECT_EQ(Measured(1.005), 0);
}

TEST(Polling, LeavesSomeOfTheCore) { EXPECT_EQ(Measured(1e6), 0.9); }

TEST(Polling, EndsWhereStepsFail) {
  const auto fails = [](const Communicator& world) {
    MeasurePolling(world, {100, 1e-3}, 1, [&]() -> double {
      world.Sleep(0.01);
      throw UserError("no step");
    });
  };
  EXPECT_THROW(RunThreads({.ranks = 2}, fails), UserError);
}

/// Four ranks on two cores, whose steps take 1 s alone and so long beside all.
double Crowding(double beside) {
  double found = 0;
  RunThreads({.ranks = 4}, [&](const Communicator& world) {
    const bool first = world.rank() < 2;
    int calls = 0;
    const double crowding = MeasureCrowding(world, 2, [&](const auto& meet) {
      meet();
      return first && calls++ == 0 ? 1 : beside;
    });
    EXPECT_EQ(calls, first ? 2 : 0);
    if (world.rank() == 3) found = crowding;
  });
  return found;
}

TEST(Crowding, IsTheCostOfTurns) {
  EXPECT_DOUBLE_EQ(Crowding(2), 1);
  EXPECT_DOUBLE_EQ(Crowding(2.4), 1.2);
  EXPECT_DOUBLE_EQ(Crowding(1.5), 1);
}

}  // namespace yoke::contention_test
