// Runs on simulated clusters whose nodes fail: survivors, restarts, and what both take along.
#include "simulate/simulated_run.h"

#include <gmock/gmock.h>

#include <map>

#include "base/check.h"
#include "comm/support/deaths.h"
#include "simulate/simulate.h"
#include "train/support/runs_test.h"
#include "train/support/trainer_fixture.h"

namespace yoke::simulated_run_test {

using testing::Contains;
using testing::HasSubstr;

constexpr int kExamples = 1024, kEpochs = 4, kBatch = 8;
constexpr const char* kSmallJob = R"([data]
format = "synthetic-digits"
train_size = 1024
test_size = 300
[model]
name = "mlp"
widths = [16]
[train]
epochs = 4
batch = 8
learning_rate = 0.03
[node]
threads = 1
[cluster]
replicas = 4
)";

SimulatedRanks Cluster() {
  return {.latency = 1e-5, .bytes_per_second = 1e9, .service = SteadyService(1e8, 1e30)};
}

/// Each node fails at its time, once.
SimulatedRanks Failing(const std::map<int, double>& deaths) {
  SimulatedRanks cluster = Cluster();
  cluster.failures = test::DeathsAt(deaths, 0.02, 0.5);
  return cluster;
}

class SimulatedRunTest : public RunsTest {
 protected:
  SimulatedRunTest() : RunsTest(kSmallJob) {}

  EndEvent On(const SimulatedRanks& cluster, const std::string& name, const Overrides& overrides) {
    notes_ = {};
    cluster_.machines = cluster;
    request_.cluster = &cluster_;
    request_.observers = {&notes_};
    return Run(name, overrides);
  }

  SimulatedCluster cluster_ = {.simulate = Simulate};
  test::Notes notes_;
};

double Accuracy(const EndEvent& end) {
  for (const auto& [name, value] : end.test)
    if (name == "accuracy") return value;
  return 0;
}

TEST_F(SimulatedRunTest, EveryStrategySurvivesALossInMidEpoch) {
  for (const std::string strategy :
       {"allreduce", "easgd_sync3", "easgd_async", "easgd_hogwild", "easgd_original", "gossip_pull",
        "gossip_push", "sgp", "ad_psgd", "local_sgd", "slowmo", "diloco", "compute_groups",
        "async_sgd"}) {
    const Overrides job = {{"cluster.strategy", strategy}};
    const EndEvent whole = On(Cluster(), strategy, job);
    EXPECT_EQ(whole.lost, 0);
    for (const int node : {0, 2}) {
      const std::string name = fmt::format("{}-{}", strategy, node);
      const double when = 0.4 * whole.virtual_seconds;
      const EndEvent end = On(Failing({{node, when}}), name, job);
      EXPECT_EQ(end.reason, "finished") << name;
      EXPECT_EQ(end.epochs, kEpochs) << name;
      EXPECT_EQ(end.lost, 1) << name;
      EXPECT_NEAR(Accuracy(end), Accuracy(whole), 0.08) << name;
      // In turns three nodes take as long as four, with fewer messages.
      const double later = strategy == "easgd_original" ? 0.45 : 0.52;
      EXPECT_GT(end.virtual_seconds, whole.virtual_seconds + later) << name;
      EXPECT_GT(end.seconds, end.virtual_seconds - 0.1) << name;  // the restart counts
      EXPECT_THAT(notes_.messages,
                  Contains(HasSubstr(fmt::format("rank {} of 4 is lost: 3 continue from", node))))
          << name;
      EXPECT_EQ(notes_.start.world, 3) << name;
      ASSERT_EQ(notes_.epochs.size(), kEpochs) << name;
      for (int epoch = 0; epoch < kEpochs; ++epoch)
        EXPECT_EQ(notes_.epochs[epoch].epoch, epoch + 1);
    }
  }
}

TEST_F(SimulatedRunTest, EachExampleIsTakenOnceInAnEpoch) {
  const double whole = On(Cluster(), "whole", {}).virtual_seconds;
  On(Failing({{1, 0.4 * whole}}), "failing", {});
  int64_t step = -1;
  for (const std::string& message : notes_.messages)
    if (const size_t at = message.find("continue from step "); at != message.npos)
      step = std::stoll(message.substr(at + 19));
  constexpr int64_t kSteps = kExamples / kBatch / 4;
  ASSERT_GT(step, kSteps);  // in the second epoch
  ASSERT_LT(step, 2 * kSteps);
  const int64_t left = 2 * kExamples - step * 4 * kBatch;
  EXPECT_EQ(notes_.epochs[1].step, step + (left + 3 * kBatch - 1) / (3 * kBatch));
  EXPECT_EQ(notes_.epochs[2].step, notes_.epochs[1].step + (kExamples + 23) / (3 * kBatch));
}

TEST_F(SimulatedRunTest, SeveralLossesAtAwkwardTimes) {
  const double whole = On(Cluster(), "whole", {}).virtual_seconds;
  const std::map<std::string, std::map<int, double>> cases = {
      {"before the first step", {{0, 0}, {3, 1e-6}}},
      {"in the restart", {{1, 0.1 * whole}, {0, 0.1 * whole + 0.3}}},
      {"one after the other", {{0, 0.1 * whole}, {1, 0.3 * whole + 0.5}, {2, 0.5 * whole + 1.5}}}};
  for (const std::string strategy : {"allreduce", "easgd_async", "gossip_pull", "async_sgd"})
    for (const auto& [name, deaths] : cases) {
      const EndEvent end = On(Failing(deaths), fmt::format("{} {}", strategy, name),
                              {{"cluster.strategy", strategy}});
      EXPECT_EQ(end.epochs, kEpochs) << strategy << " " << name;
      EXPECT_EQ(end.lost, std::ssize(deaths)) << strategy << " " << name;
      EXPECT_GT(Accuracy(end), 0.7) << strategy << " " << name;
    }
}

TEST_F(SimulatedRunTest, AnExecutorThatUpdatesInPlaceSurvives) {
  const Overrides job = {{"cluster.strategy", "local_sgd"}, {"node.executor", "hogwild"}};
  const double whole = On(Cluster(), "whole", job).virtual_seconds;
  const EndEvent end = On(Failing({{0, 0.4 * whole}}), "failing", job);
  EXPECT_EQ(end.epochs, kEpochs);
  EXPECT_GT(Accuracy(end), 0.7);
}

TEST_F(SimulatedRunTest, AfterTheLastLossThereIsOneSentence) {
  try {
    On(Failing({{0, 0.1}, {1, 0.1}, {2, 0.1}, {3, 0.1}}), "none", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no node of the simulated cluster is left: all 4"));
  }
}

TEST_F(SimulatedRunTest, ARestartGoesBackToTheNewestCheckpoint) {
  for (const std::string strategy : {"allreduce", "gossip_pull", "easgd_async", "diloco"}) {
    const Overrides job = {{"cluster.strategy", strategy}, {"checkpoint.every_steps", "20"}};
    const EndEvent whole = On(Cluster(), strategy + "-whole", job);
    for (const int node : {0, 3}) {
      SimulatedRanks cluster = Failing({{node, 0.6 * whole.virtual_seconds}});
      cluster.failures.replace = true;
      const std::string name = fmt::format("{}-{}", strategy, node);
      const EndEvent end = On(cluster, name, job);
      EXPECT_EQ(notes_.start.world, 4) << name;
      EXPECT_EQ(end.epochs, kEpochs) << name;
      EXPECT_EQ(end.step, whole.step) << name;
      EXPECT_EQ(end.lost, 1);
      EXPECT_GT(end.virtual_seconds, whole.virtual_seconds + 0.52) << name;
      EXPECT_NEAR(end.seconds, end.virtual_seconds, 0.05) << name;  // lost work counts
      EXPECT_THAT(notes_.messages, Contains(HasSubstr("resumed from"))) << name;
      EXPECT_THAT(
          notes_.messages,
          Contains(HasSubstr(fmt::format("rank {} of 4 is lost: its node is replaced", node))));
      if (strategy == "allreduce") {
        EXPECT_EQ(Kept(name, "model.safetensors"), Kept(strategy + "-whole", "model.safetensors"));
      }
    }
  }
}

TEST_F(SimulatedRunTest, CheckpointsTakeTime) {
  const Overrides job = {{"checkpoint.every_epochs", "1"}};
  const double whole = On(Cluster(), "whole", job).virtual_seconds;
  cluster_.checkpoint_bytes_per_second = 1e6;
  const double slower = On(Cluster(), "slower", job).virtual_seconds;
  const double bytes = 2 * 4.0 * (784 * 16 + 16 + 160 + 10);  // weights and momentum
  EXPECT_NEAR(slower - whole, kEpochs * bytes / 1e6, 1e-3);
  // A leader that is lost while it writes leaves no checkpoint: the run goes back to the start.
  SimulatedRanks cluster = Failing({{0, 0.25 * whole + 0.02}});
  cluster.failures.replace = true;
  On(cluster, "lost", job);
  EXPECT_THAT(notes_.messages, Contains(HasSubstr("there is no checkpoint yet")));
}

/// The last checkpoint comes after the last epoch is told.
TEST_F(SimulatedRunTest, CheckpointsBeforeARestartAreNoTimeOfTraining) {
  const Overrides job = {{"cluster.strategy", "allreduce"}, {"checkpoint.every_epochs", "1"}};
  const auto pauses = [this] {
    const EpochEvent& last = notes_.epochs.back();
    return last.seconds - last.training_seconds;
  };
  cluster_.checkpoint_bytes_per_second = 1e6;
  const double whole = On(Cluster(), "whole", job).virtual_seconds;
  const double paused = pauses();
  EXPECT_GT(paused, 0.1);
  SimulatedRanks cluster = Failing({{1, 0.6 * whole}});
  cluster.failures.replace = true;
  EXPECT_EQ(On(cluster, "lost", job).lost, 1);
  EXPECT_NEAR(pauses(), paused, 1e-3);
}

TEST_F(SimulatedRunTest, ItEndsWhereNothingGoesOn) {
  SimulatedRanks cluster = Failing({});
  cluster.failures.replace = true;
  cluster.failures.death = [](int, int, double born) { return born + 1e-3; };
  try {
    On(cluster, "never", {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the run has gone back to step 0 100 times"));
  }
}

TEST_F(SimulatedRunTest, IsTheSameTwice) {
  for (const std::string strategy : {"gossip_pull", "async_sgd"}) {
    const auto run = [&](const std::string& name) {
      SimulatedRanks cluster = Failing({{0, 0.2}, {2, 0.8}});
      cluster.service = ExponentialService(SteadyService(1e8, 1e30), 1, 4);
      return On(cluster, strategy + name, {{"cluster.strategy", strategy}}).virtual_seconds;
    };
    EXPECT_EQ(run("-a"), run("-b")) << strategy;
    EXPECT_EQ(Kept(strategy + "-a", "model.safetensors"),
              Kept(strategy + "-b", "model.safetensors"));
  }
}

TEST_F(SimulatedRunTest, ADetectionThatComesTooLateIsRefused) {
  SimulatedRanks cluster = Failing({{0, 1}});
  cluster.failures.detection = 60;
  try {
    On(cluster, "late", {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("failures.detection"));
  }
}

}  // namespace yoke::simulated_run_test
