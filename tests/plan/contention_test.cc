// Contention: by how much steps are slower beside others, threads that end, and machines that are
// slowed where replicas share cores, and only there.
#include "plan/contention.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/check.h"
#include "base/files.h"
#include "comm/threads.h"
#include "plan/hardware.h"
#include "plan/support/small_job.h"

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

using Machines = std::map<std::string, ClusterFile>;

/// Four replicas on a machine of so many cores; 0: one for each.
Machines OneMachine(int cores) {
  Machines machines = test::FreeNetwork(1);
  NodeKind& node = machines.begin()->second.kinds[0];
  node.ranks = 4;
  node.cores = cores;
  return machines;
}

class CalibrationTest : public testing::Test {
 protected:
  double PriceOn(const Machines& machines) {
    return Hardware(job_, data_, machines)
        .Of({.executor = "single", .precision = "f32"})
        .seconds_per_update;
  }
  /// Calibrates with this time of an example; 0: with a trial.
  void Calibrate(double example_seconds, Machines& machines) {
    yoke::Calibrate(job_,
                    {.data = data_,
                     .run = run_,
                     .folder = folder_.path() + "/trial",
                     .seconds = kShortestTrial},
                    example_seconds, machines);
  }

  const TemporaryFolder folder_{"yoke-calibration-test"};
  const Job job_ = test::SmallJob({{"cluster.replicas", "4"}, {"cluster.strategy", "allreduce"}});
  const DataSets data_ = OpenData(job_.data(), job_.seed());
  const RunRequest run_ = {};
};

TEST_F(CalibrationTest, AnUpdateOfTheDefaultTakesWhatItTakesInTraining) {
  Machines machines = OneMachine(2);
  const double price = PriceOn(machines);
  Calibrate(1.5 * price / static_cast<double>(4 * job_.train.Int("batch")), machines);
  EXPECT_NEAR(PriceOn(machines) / price, 1.5, 0.02);
}

TEST_F(CalibrationTest, TrainsWhereTheTimeIsNotKnown) {
  Machines machines = OneMachine(2);
  NodeKind& node = machines.begin()->second.kinds[0];
  node.operations_per_second = node.bytes_per_second = 1e15;  // no real one is as fast
  const double price = PriceOn(machines);
  Calibrate(0, machines);
  EXPECT_GT(PriceOn(machines), 2 * price);
}

TEST_F(CalibrationTest, MachinesStayAsTheyAreWhereCoresAreFreeOrTrainingIsAsFast) {
  for (const int cores : {0, 4}) {
    Machines machines = OneMachine(cores);
    const double price = PriceOn(machines);
    Calibrate(1, machines);
    EXPECT_EQ(PriceOn(machines), price);
  }
  Machines machines = OneMachine(2);
  const double price = PriceOn(machines);
  Calibrate(price / 1000, machines);
  EXPECT_EQ(PriceOn(machines), price);
}

}  // namespace yoke::contention_test
