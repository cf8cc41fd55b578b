// Times only: the times, messages and bytes of training, without gradients.
#include "simulate/times_only.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/registry.h"
#include "comm/support/deaths.h"
#include "simulate/simulate.h"
#include "strategy/strategy.h"
#include "train/support/runs_test.h"
#include "train/support/trainer_fixture.h"

namespace yoke::times_only_test {

using testing::Contains;
using testing::HasSubstr;

/// 18,000 parameters; its last layers are a head that can be served.
constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 640
test_size = 20
[model]
layer = [{ type = "convolution", outputs = 4, kernel = 5, stride = 3 }, { type = "relu" }, { type = "flatten" },
         { type = "linear", outputs = 64 }, { type = "relu" }, { type = "linear", outputs = 10 }]
[train]
epochs = 2
batch = 16
learning_rate = 0.001
rule = "momentum"
[node]
threads = 1
[cluster]
replicas = 4
)";

class TimesOnlyTest : public RunsTest {
 protected:
  TimesOnlyTest() : RunsTest(kJob) {
    cluster_.machines = {
        .latency = 2e-5, .bytes_per_second = 4e7, .service = [](int, const Cost& cost) {
          return cost.operations / 5e7 + cost.bytes / 4e8;
        }};
    request_.cluster = &cluster_;
  }

  EndEvent Train(bool times_only, const Overrides& overrides) {
    notes_ = {};
    request_.observers = {&notes_};
    cluster_.times_only = times_only;
    return Run("run" + std::to_string(++runs_), overrides);
  }

  /// Each node fails at its time, once.
  void Fail(const std::map<int, double>& deaths) {
    cluster_.machines.failures = test::DeathsAt(deaths, 0.02, 0.5);
  }

  SimulatedCluster cluster_ = {.simulate = Simulate};
  test::Notes notes_;
  int runs_ = 0;
};

double Of(const EndEvent& end, const std::string& name) { return MetricOf(end.exchange, name); }

TEST_F(TimesOnlyTest, TakesTheTimeOfTraining) {
  std::vector<Overrides> jobs;
  for (const StrategyEntry& entry : strategies())
    if (entry.name != "none") jobs.push_back({{"cluster.strategy", entry.name}});
  jobs.push_back({{"cluster.strategy", "easgd_original"}, {"cluster.form", "overlapped"}});
  jobs.push_back({{"cluster.strategy", "compute_groups"}, {"cluster.served_head", "true"}});
  jobs.push_back({{"cluster.strategy", "async_sgd"}, {"cluster.servers", "1"}});
  jobs.push_back({{"cluster.strategy", "allreduce"}, {"cluster.bucket_mb", "0.01"}});
  jobs.push_back({{"cluster.strategy", "compute_groups"}, {"cluster.bucket_mb", "0.01"}});
  jobs.push_back({{"cluster.strategy", "compute_groups"},
                  {"cluster.served_head", "true"},
                  {"cluster.bucket_mb", "0"}});
  jobs.push_back({{"cluster.strategy", "diloco"}, {"train.rule", "adamw"}});
  jobs.push_back({{"cluster.strategy", "allreduce"}, {"cluster.compression", "int8"}});
  for (const Overrides& job : jobs) {
    const std::string name = job[0].value + (job.size() > 1 ? " " + job[1].key : "") +
                             (job.size() > 2 ? " " + job[2].key : "");
    const EndEvent real = Train(false, job), times = Train(true, job);
    EXPECT_EQ(times.step, real.step) << name;
    EXPECT_EQ(times.reason, "finished") << name;
    // Overlapped, who comes first at the master of easgd_original decides about a lasting rhythm.
    const bool in_step = FindEntry(strategies(), "strategy", job[0].value).deterministic;
    const double tolerance = name == "easgd_original cluster.form" ? 0.15 : in_step ? 0.01 : 0.05;
    EXPECT_NEAR(Of(times, "step_seconds") / Of(real, "step_seconds"), 1, tolerance) << name;
    EXPECT_NEAR(Of(times, "bytes") / Of(real, "bytes"), 1, 0.02) << name;
    EXPECT_NEAR(Of(times, "messages") / Of(real, "messages"), 1, 0.01) << name;
    EXPECT_NEAR(Of(times, "communicating"), Of(real, "communicating"), tolerance) << name;
    EXPECT_NEAR(times.virtual_seconds / real.virtual_seconds, 1, 0.1) << name;
  }
}

/// Each part has a team of its own, and the price has the loss of large teams.
TEST_F(TimesOnlyTest, PartsOfAChipGain) {
  const SpeedCurve chip = {
      .operations_per_second = 5e7, .bytes_per_second = 4e8, .threads = 16, .team_loss = 0.05};
  cluster_.machines.nodes = {};
  cluster_.machines.cpu_threads = chip.threads;
  cluster_.machines.devices = [chip](int, const Cost& cost, const WorkPlace& place) {
    return chip.Seconds(cost, place);
  };
  double before = 1e9;
  for (const char* parts : {"1", "4", "16"}) {
    const Overrides job = {{"node.executor", "split"},
                           {"node.parts", parts},
                           {"train.batch", "64"},
                           {"train.epochs", "1"},
                           {"cluster.replicas", "2"}};
    const double times = Of(Train(true, job), "step_seconds");
    EXPECT_LT(times, before) << parts;
    EXPECT_NEAR(times / Of(Train(false, job), "step_seconds"), 1, 0.01) << parts;
    before = times;
  }
}

/// Many ranks wait longer than a wait may last until rank 0 has the parts of all.
TEST_F(TimesOnlyTest, ACheckpointOfAllRanksTakesItsTime) {
  cluster_.machines.bytes_per_second = 1e6;
  const Overrides job = {{"cluster.strategy", "gossip_pull"},
                         {"cluster.replicas", "24"},
                         {"train.epochs", "1"},
                         {"cluster.period", "100"}};
  const EndEvent whole = Train(true, job);
  const double checkpoint = Of(whole, "checkpoint_seconds");
  EXPECT_GT(checkpoint, 23 * 2 * 4 * 1000 / 1e6);
  Overrides hasty = job;
  hasty.push_back({"cluster.timeout", fmt::format("{}", checkpoint / 3)});
  EXPECT_NEAR(Train(true, hasty).virtual_seconds, whole.virtual_seconds, 0.01);
}

TEST_F(TimesOnlyTest, StopsAtItsLimits) {
  const EndEvent whole = Train(true, {});
  EXPECT_EQ(whole.step, 20);
  EXPECT_EQ(whole.epochs, 2);
  const EndEvent early =
      Train(true, {{"train.time_limit", fmt::format("{}s", whole.virtual_seconds / 2)}});
  EXPECT_EQ(early.reason, "time_limit");
  EXPECT_NEAR(early.step, 10, 1);
  request_.steps = 33;  // more than the epochs have
  EXPECT_EQ(Train(true, {}).step, 33);
}

/// As a planner asks for them.
TEST_F(TimesOnlyTest, NeedNoRun) {
  request_.steps = 12;
  const Overrides keys = {{"cluster.strategy", "async_sgd"}};
  const EndEvent end = Train(true, keys);
  const Job job = LoadJob(folder_ + "/job.toml", keys);
  const TimedResult times =
      SimulateTimes(job, {.steps = 12, .cluster = &cluster_}, OpenData(job.data(), job.seed()));
  EXPECT_EQ(times.steps, 12);
  EXPECT_EQ(times.seconds, end.virtual_seconds);
  EXPECT_EQ(MetricsOf(times.exchange), end.exchange);
}

TEST_F(TimesOnlyTest, LosesNodesAndGoesOn) {
  for (const std::string strategy : {"allreduce", "easgd_sync3", "gossip_pull", "diloco",
                                     "compute_groups", "async_sgd", "easgd_async"}) {
    const Overrides job = {{"cluster.strategy", strategy}};
    cluster_.machines.failures = {};
    const EndEvent whole = Train(true, job);
    Fail({{0, 0.3 * whole.virtual_seconds}, {2, 0.3 * whole.virtual_seconds + 0.6}});
    const EndEvent end = Train(true, job);
    EXPECT_EQ(end.lost, 2) << strategy;
    EXPECT_EQ(notes_.start.world, 2) << strategy;
    EXPECT_GE(end.epochs, 2) << strategy;
    EXPECT_GT(end.virtual_seconds, whole.virtual_seconds + 1.04) << strategy;
    EXPECT_THAT(notes_.messages, Contains(HasSubstr("of 3 is lost: 2 continue from step")))
        << strategy;
  }
}

/// Steps of replicas of their own count, but those of a lost node since it last exchanged.
TEST_F(TimesOnlyTest, CountsTheStepsThatReachTheModel) {
  const Overrides job = {{"cluster.strategy", "local_sgd"}, {"cluster.period", "4"}};
  request_.steps = 8;
  const double step = Train(true, job).virtual_seconds / 8;
  request_.steps = 12;
  for (const int done : {5, 6, 7}) {  // of these one to three since the first exchange
    Fail({{2, (done + 0.5) * step}});
    const EndEvent end = Train(true, job);
    const double before = 4 * done - (done - 4), after = 3 * (12 - done);
    EXPECT_NEAR(end.epochs * 640 / 16, before + after, 0.01) << done;
  }
}

/// A node that fails while rank 0 writes does not end the writing early.
TEST_F(TimesOnlyTest, WritesACheckpointToItsEnd) {
  const Overrides job = {{"checkpoint.every_steps", "5"}};
  cluster_.checkpoint_bytes_per_second = 4e4;  // about 3.6 s each
  const EndEvent whole = Train(true, job);
  Overrides hasty = job;
  hasty.push_back({"cluster.timeout", "1"});
  EXPECT_NEAR(Train(true, hasty).virtual_seconds, whole.virtual_seconds, 0.01);
  Fail({{1, 1.5}});
  const EndEvent end = Train(true, job);
  EXPECT_GT(end.virtual_seconds, whole.virtual_seconds + 0.5);
}

TEST_F(TimesOnlyTest, EpochsHaveCheckpointsWithStepsToo) {
  cluster_.checkpoint_bytes_per_second = 1e8;
  const EndEvent epochs = Train(true, {});
  request_.steps = 20;  // two epochs
  EXPECT_DOUBLE_EQ(Train(true, {}).virtual_seconds, epochs.virtual_seconds);
}

TEST_F(TimesOnlyTest, SaysThatNothingIsEvaluated) {
  Train(true, {{"train.target", "{ metric = \"accuracy\", at_least = 0.5 }"},
               {"train.early_stopping", "{ patience = 1 }"},
               {"train.evaluate_every", "{ steps = 5 }"},
               {"train.evaluate_examples", "10"}});
  for (const char* key : {"target", "early_stopping", "evaluate_every", "evaluate_examples"})
    EXPECT_THAT(notes_.messages, Contains(HasSubstr(fmt::format("train.{}", key))));
}

TEST_F(TimesOnlyTest, GoesBackToACheckpoint) {
  const Overrides job = {{"checkpoint.every_steps", "5"}};
  cluster_.checkpoint_bytes_per_second = 1e9;
  const EndEvent whole = Train(true, job);
  Fail({{1, 0.45 * whole.virtual_seconds}});
  cluster_.machines.failures.replace = true;
  const EndEvent end = Train(true, job);
  EXPECT_EQ(end.step, whole.step);
  EXPECT_EQ(end.epochs, whole.epochs);
  EXPECT_THAT(notes_.messages, Contains(HasSubstr("rank 1 of 4 is lost: its node is replaced")));
  EXPECT_THAT(notes_.messages, Contains(HasSubstr("back to step 5")));
  EXPECT_GT(end.virtual_seconds, whole.virtual_seconds + 0.52);
  cluster_.machines.failures.death = [](int, int, double born) { return born + 1e-3; };
  EXPECT_THROW(Train(true, job), UserError);
}

}  // namespace yoke::times_only_test
