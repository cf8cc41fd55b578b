// MeasurePolling: the part of a step that it takes longer beside messages, and threads that end.
#include "plan/polling.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/check.h"
#include "comm/threads.h"

namespace yoke::polling_test {

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

}  // namespace yoke::polling_test
