// MeasureMachines: what is measured of a job's devices prices its candidates.
#include "plan/world_profile.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "comm/threads.h"
#include "plan/hardware.h"
#include "plan/support/small_job.h"

namespace yoke::world_profile_test {

constexpr double kSeconds = 0.3;  // of measuring

/// Of ranks that are threads of this process.
std::map<std::string, ClusterFile> Measure(const Job& job, const DataSets& data, int ranks) {
  std::map<std::string, ClusterFile> machines;
  RunThreads({.ranks = ranks, .timeout = 60}, [&](const Communicator& world) {
    const auto found = MeasureMachines(job, *data.train, {"f32"}, world, {.seconds = kSeconds});
    if (world.rank() == 0) machines = found;
  });
  return machines;
}

Job JobOn(const std::string& devices) { return test::SmallJob({{"node.devices", devices}}); }

TEST(Machines, OfTheCpuHaveTheFilesCurve) {
  const Job job = JobOn("cpu");
  const DataSets data = OpenData(job.data(), job.seed());
  const auto machines = Measure(job, data, 1);
  const auto& curves = machines.at("f32").kinds.at(0).curves;
  ASSERT_EQ(curves.size(), 1);
  EXPECT_EQ(curves.begin()->first, "");
}

/// The messages of the first ones stand for all, on every rank.
TEST(Machines, OfManyThreadsHaveTheMessagesOfAFew) {
  const Job job = JobOn("cpu");
  const DataSets data = OpenData(job.data(), job.seed());
  const auto machines = Measure(job, data, 6);
  EXPECT_EQ(machines.at("f32").Ranks(), 6);
  EXPECT_GT(machines.at("f32").copy_bytes_per_second, 1e6);
  EXPECT_LT(machines.at("f32").copy_bytes_per_second, 1e13);
}

TEST(Machines, HaveACurveOfEachDevice) {
  const Job job = JobOn(R"(["cpu", "emulated:0", "emulated:1"])");
  const DataSets data = OpenData(job.data(), job.seed());
  for (const int ranks : {1, 2}) {
    const auto machines = Measure(job, data, ranks);
    const auto& curves = machines.at("f32").kinds.at(0).curves;
    ASSERT_EQ(curves.size(), 3);
    for (const char* name : {"cpu", "emulated:0", "emulated:1"}) {
      EXPECT_GT(curves.at(name).operations_per_second, 0) << name;
      EXPECT_GT(curves.at(name).utilizations.size(), 3) << name;
      EXPECT_EQ(curves.at(name).link_bytes_per_second > 0, std::string(name) != "cpu") << name;
    }
  }
}

TEST(Machines, PriceCandidatesOnDevices) {
  for (const char* devices : {R"(["cpu", "emulated:0"])", R"(["emulated:0"])"}) {
    const Job job = JobOn(devices);
    const DataSets data = OpenData(job.data(), job.seed());
    const auto machines = Measure(job, data, 1);
    const Hardware hardware(job, data, machines);
    int priced = 0;
    for (const Candidate& one : MakeCandidates(job, {.open = {"node.executor"}})) {
      if (!one.dropped.empty()) continue;
      if (one.executor == "pipeline") {
        EXPECT_THROW(hardware.Of(one), UserError);  // this model is not hashed
        continue;
      }
      const double seconds = hardware.Of(one).seconds_per_update;
      EXPECT_GT(seconds, 1e-6) << one.name;
      EXPECT_LT(seconds, 0.1) << one.name;
      ++priced;
    }
    EXPECT_GE(priced, 3) << devices;
  }
}

}  // namespace yoke::world_profile_test
