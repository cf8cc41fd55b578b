// Calibration: machines are slowed where replicas share cores, and only there.
#include "plan/contention.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "plan/hardware.h"
#include "plan/support/small_job.h"

namespace yoke::calibration_test {

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

}  // namespace yoke::calibration_test
