// Hardware: prices on stated clusters.
#include "plan/hardware.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/files.h"
#include "measure/speed_fit.h"
#include "plan/support/small_job.h"
#include "train/job/parts.h"

namespace yoke::hardware_test {

using test::FreeNetwork;
using test::SlowNetwork;
using test::SmallJob;
using testing::HasSubstr;

class HardwareTest : public testing::Test {
 protected:
  /// Of the job with these keys on these machines.
  Price Of(const std::map<std::string, ClusterFile>& machines, const Overrides& keys,
           const std::string& executor = "single") {
    Overrides all = keys;
    if (const int nodes = machines.begin()->second.Nodes(); nodes > 1)
      all.push_back({"cluster.replicas", std::to_string(nodes)});
    const Job job = SmallJob(all);
    const DataSets data = OpenData(job.data(), job.seed());
    Candidate candidate = {.executor = executor, .precision = "f32"};
    if (executor != "single") candidate.keys = {{"node.executor", executor}};
    return Hardware(job, data, machines).Of(candidate);
  }
  static Overrides Strategy(const std::string& name) { return {{"cluster.strategy", name}}; }
};

TEST_F(HardwareTest, OneReplicaCostsWhatItsWorkCosts) {
  const Job job = SmallJob();
  const DataSets data = OpenData(job.data(), job.seed());
  const Graph graph = BuildModel(job.model(), TaskOf(data.train->Info()));
  Cost cost = graph.Price(16);
  const Cost update =
      CostOfUpdate(RuleState(graph.layout(), *RuleOf(job), Cpu()), graph.layout().dense_size());
  cost.operations += update.operations;
  cost.bytes += update.bytes;
  const Price price = Of(FreeNetwork(1), {});
  EXPECT_NEAR(
      price.seconds_per_update / (cost.operations / test::kOperations + cost.bytes / test::kBytes),
      1, 1e-6);
  EXPECT_EQ(price.examples_per_update, 16);
  EXPECT_EQ(price.use.batch, 16);
  EXPECT_EQ(price.use.interval, 1);
  EXPECT_EQ(price.use.staleness, 0);
}

TEST_F(HardwareTest, InPlaceExecutorsUpdateBySmallerBatches) {
  const Price price = Of(FreeNetwork(1), {{"train.batch", "128"}}, "hogwild");
  EXPECT_GT(price.seconds_per_update, 0);
  EXPECT_EQ(price.examples_per_update, 128);
  EXPECT_EQ(price.use.batch, 128);  // its small updates take a part of the rate
  const Price whole = Of(
      FreeNetwork(1),
      {{"train.batch", "128"}, {"node.executor", "hogwild"}, {"node.hogwild_scale_rate", "false"}},
      "hogwild");
  EXPECT_LT(whole.use.batch, 128);
}

TEST_F(HardwareTest, AFreeNetworkCostsTheNodesStep) {
  const double alone = Of(FreeNetwork(1), {}).seconds_per_update;
  for (const char* strategy : {"allreduce", "local_sgd", "easgd_sync3"}) {
    const Price price = Of(FreeNetwork(4), Strategy(strategy));
    EXPECT_NEAR(price.seconds_per_update / alone, 1, 0.2) << strategy;
    EXPECT_EQ(price.examples_per_update, 64) << strategy;
    EXPECT_EQ(price.use.batch, 64) << strategy;
  }
}

TEST_F(HardwareTest, OnASlowNetworkALongPeriodIsCheaper) {
  const Price all = Of(SlowNetwork(4), Strategy("allreduce"));
  const Price local =
      Of(SlowNetwork(4), {{"cluster.strategy", "local_sgd"}, {"cluster.period", "32"}});
  EXPECT_GT(all.seconds_per_update, 10 * local.seconds_per_update);
  EXPECT_GT(all.seconds_per_update, 0.5);
  EXPECT_NEAR(all.use.interval, 1, 0.01);
  EXPECT_NEAR(local.use.interval, 32, 2);
  const Price rare =
      Of(SlowNetwork(4), {{"cluster.strategy", "local_sgd"}, {"cluster.period", "128"}});
  EXPECT_NEAR(rare.use.interval, 128, 2);
  EXPECT_GT(local.seconds_per_update, 1.5 * rare.seconds_per_update);
}

TEST_F(HardwareTest, EvaluationsByStepsAreNoPartOfAStep) {
  Overrides keys = Strategy("gossip_pull");
  const Price price = Of(SlowNetwork(4), keys);
  keys.push_back({"train.evaluate_every", "{ steps = 1 }"});
  EXPECT_EQ(Of(SlowNetwork(4), keys).seconds_per_update, price.seconds_per_update);
}

/// 2,000 steps an epoch, of which diloco takes 500 from one exchange to the next.
TEST_F(HardwareTest, ADefaultPeriodIsPricedWhole) {
  Overrides keys = {
      {"cluster.strategy", "diloco"}, {"train.batch", "1"}, {"data.train_size", "8000"}};
  const Price own = Of(SlowNetwork(4), keys);
  keys.push_back({"cluster.period", "500"});
  const Price given = Of(SlowNetwork(4), keys);
  EXPECT_EQ(own.seconds_per_update, given.seconds_per_update);
  EXPECT_EQ(own.use.interval, 500);
  keys.back().value = "50";
  EXPECT_GT(Of(SlowNetwork(4), keys).seconds_per_update, 2 * own.seconds_per_update);
}

/// An exchange costs an update half of what it does in half the period.
TEST_F(HardwareTest, LongPeriodsArePricedWhole) {
  const auto seconds = [this](const char* period) {
    return Of(SlowNetwork(2), {{"cluster.strategy", "local_sgd"}, {"cluster.period", period}})
        .seconds_per_update;
  };
  const double longer = seconds("1000");
  EXPECT_NEAR((seconds("500") - longer) / (longer - seconds("2000")), 2, 0.2);
}

/// Replicas that differ meet for their mean, and send all they have for a checkpoint.
TEST_F(HardwareTest, EpochsEndWithAMeetingAndACheckpointIfItIsDue) {
  const auto seconds = [this](const char* strategy, const char* every) {
    return Of(SlowNetwork(4), {{"cluster.strategy", strategy}, {"checkpoint.every_epochs", every}})
        .epoch_seconds;
  };
  const double meeting = seconds("gossip_pull", "0"), both = seconds("gossip_pull", "1");
  EXPECT_GT(meeting, 0.5);
  EXPECT_GT(both, 2 * meeting);
  EXPECT_NEAR((seconds("gossip_pull", "4") - meeting) / (both - meeting), 0.25, 0.01);
  EXPECT_LT(seconds("allreduce", "1"), 0.1);
}

/// What failures cost depends on when they happen: it is in no price.
TEST_F(HardwareTest, NodesThatFailArePricedAsIfTheyDidNot) {
  for (const bool replace : {false, true}) {
    auto machines = FreeNetwork(4);
    const double price = Of(machines, Strategy("allreduce")).seconds_per_update;
    ClusterFailures& failures = machines.begin()->second.failures;
    failures.mean_time_between = 20 * price;
    failures.replaces = replace;
    EXPECT_EQ(Of(machines, Strategy("allreduce")).seconds_per_update, price);
  }
}

TEST_F(HardwareTest, AsynchronousGradientsAreAsStaleAsThereAreOthers) {
  const Price price = Of(FreeNetwork(4), Strategy("async_sgd"));
  EXPECT_NEAR(price.use.staleness, 3, 0.5);
  EXPECT_EQ(Of(FreeNetwork(4), Strategy("allreduce")).use.staleness, 0);
}

TEST_F(HardwareTest, AnElasticForceIsOfTheLearningRate) {
  const auto use = [this](const char* key, const char* value) {
    return Of(FreeNetwork(4),
              {{"cluster.strategy", "easgd_sync3"}, {key, value}, {"train.learning_rate", "0.02"}})
        .use;
  };
  EXPECT_DOUBLE_EQ(use("cluster.rho", "0.001").mixing, 2e-5);
  EXPECT_EQ(use("cluster.rho", "0.001").Doublings(),
            use("cluster.moving_rate", "2e-5").Doublings());
}

TEST_F(HardwareTest, TheSameTwice) {
  for (const char* strategy : {"allreduce", "async_sgd", "gossip_pull"}) {
    const Price first = Of(SlowNetwork(3), Strategy(strategy));
    const Price again = Of(SlowNetwork(3), Strategy(strategy));
    EXPECT_EQ(first.seconds_per_update, again.seconds_per_update) << strategy;
    EXPECT_EQ(first.use.staleness, again.use.staleness) << strategy;
  }
}

TEST_F(HardwareTest, ALimitOfTheJobDoesNotEndThePrice) {
  const Overrides limited = {{"cluster.strategy", "allreduce"},
                             {"train.time_limit", "1s", "--time-limit", true},
                             {"train.epochs", "1"}};
  EXPECT_NEAR(Of(SlowNetwork(2), limited).seconds_per_update /
                  Of(SlowNetwork(2), Strategy("allreduce")).seconds_per_update,
              1, 0.01);
}

constexpr const char* kBoth = R"(["cpu", "emulated:0"])";

/// Machines with an emulated device that is so many times as fast as the CPU.
std::map<std::string, ClusterFile> WithDevice(double faster, int nodes = 1) {
  auto machines = FreeNetwork(nodes);
  SpeedCurve cpu = {.operations_per_second = test::kOperations, .bytes_per_second = test::kBytes};
  SpeedCurve device = Slower(cpu, 1 / faster);
  device.link_bytes_per_second = 1e9;
  machines.at("f32").kinds[0].curves = {{"cpu", cpu}, {"emulated:0", device}};
  return machines;
}

TEST_F(HardwareTest, DevicesTogetherAreFasterThanEach) {
  const Overrides large = {{"train.batch", "128"}};
  Overrides both = large, device = large;
  both.push_back({"node.devices", kBoth});
  device.push_back({"node.devices", "emulated:0"});
  const double alone = Of(WithDevice(3), large).seconds_per_update;
  const double on_device = Of(WithDevice(3), device).seconds_per_update;
  EXPECT_NEAR(alone / on_device, 3, 1e-6);  // values and update are there too
  for (const char* executor : {"split", "hogbatch", "adaptive_hogbatch"}) {
    const Price price = Of(WithDevice(3), both, executor);
    EXPECT_LT(price.seconds_per_update, alone) << executor;
    EXPECT_GT(price.seconds_per_update, alone / 4) << executor;
    const Price faster = Of(WithDevice(12), both, executor);
    EXPECT_LT(faster.seconds_per_update, price.seconds_per_update) << executor;
  }
}

TEST_F(HardwareTest, ReplicasWithSeveralDevicesAreAsFastAsTheirNodes) {
  for (const auto& [strategy, executor] :
       {std::pair("allreduce", "split"), {"local_sgd", "split"}, {"local_sgd", "hogbatch"}}) {
    Overrides keys = {{"train.batch", "128"}, {"node.devices", kBoth}};
    const Price alone = Of(WithDevice(3), keys, executor);
    keys.push_back({"cluster.strategy", strategy});
    const Price both = Of(WithDevice(3, 2), keys, executor);
    EXPECT_NEAR(both.seconds_per_update / alone.seconds_per_update, 1, 0.1)
        << strategy << ", " << executor;
    EXPECT_EQ(both.examples_per_update, 2 * alone.examples_per_update);
    EXPECT_EQ(both.use.batch, 2 * alone.use.batch);
  }
}

TEST_F(HardwareTest, AServersPartOfTheRateIsAPartOfAnUpdate) {
  const Overrides keys = Strategy("async_sgd");
  const auto batch = [&](const char* rate, const Overrides& more = {}) {
    Overrides all = keys;
    all.push_back({"train.learning_rate", rate});
    all.insert(all.end(), more.begin(), more.end());
    return Of(FreeNetwork(4), all).use.batch;
  };
  EXPECT_EQ(batch("0.1"), 64);
  EXPECT_EQ(batch("0.1", {{"cluster.form", "paper"}}), 16);
  EXPECT_EQ(batch("0.1", {{"cluster.scale_by_staleness", "true"}}), 64);
  EXPECT_EQ(batch("0.001"), 16);  // so low a rate is not scaled
  EXPECT_NEAR(batch("0.015"), 32, 1e-4);
  EXPECT_EQ(batch("0.001", {{"cluster.predict_weights", "false"}}), 64);
}

TEST_F(HardwareTest, WhatHasNoPriceSaysWhy) {
  const auto reason = [&](const Overrides& keys, const std::string& executor) -> std::string {
    try {
      Of(WithDevice(1), keys, executor);
      return "";
    } catch (const UserError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(reason({{"node.devices", R"(["cpu", "emulated:1"])"}}, "split"),
            "the speed of device emulated:1 is not known");
}

TEST_F(HardwareTest, UnknownSpeedsHaveNoPrice) {
  const auto machines = FreeNetwork(1);
  const Job job = SmallJob();
  const DataSets data = OpenData(job.data(), job.seed());
  Hardware hardware(job, data, machines);
  try {
    hardware.Of({.keys = {{"node.precision", "bf16"}}, .executor = "single", .precision = "bf16"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("bf16"));
  }
}

}  // namespace yoke::hardware_test
