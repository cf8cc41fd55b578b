// Runs in virtual time: the same weights as over threads, and the times that were stated.
#include <gtest/gtest.h>

#include "model/graph.h"
#include "simulate/simulate.h"
#include "train/job/parts.h"
#include "train/support/runs_test.h"

namespace yoke::virtual_time_test {

constexpr const char* kSmallJob = R"([data]
format = "synthetic-digits"
train_size = 256
test_size = 50
[model]
name = "mlp"
widths = [16]
[train]
epochs = 2
batch = 16
learning_rate = 0.05
[node]
threads = 1
)";

constexpr double kOperationsPerSecond = 1e8;

class VirtualTime : public RunsTest {
 protected:
  VirtualTime() : RunsTest(kSmallJob) {}

  static Overrides Replicas(int count, const std::string& strategy) {
    return {{"cluster.replicas", std::to_string(count)}, {"cluster.strategy", strategy}};
  }
  EndEvent Simulated(const std::string& name, const SimulatedRanks& cluster,
                     const Overrides& overrides) {
    const SimulatedCluster simulated = {.machines = cluster, .simulate = Simulate};
    request_.cluster = &simulated;
    EndEvent end = Run(name, overrides);
    request_.cluster = nullptr;
    return end;
  }
  /// Operations of forward and backward for a whole run of one replica.
  double Operations(const Overrides& overrides) {
    const Job job = LoadJob(folder_ + "/job.toml", overrides);
    const DataInfo data = {.input = {1, 28, 28}, .outputs = 10};
    const Graph graph = BuildModel(job.model(), TaskOf(data));
    return 32 * graph.Price(16).operations;  // steps of two epochs
  }
};

ServiceTime OnlyOperations(double per_second) { return SteadyService(per_second, 1e30); }

TEST_F(VirtualTime, WeightsAreThoseOfThreads) {
  for (const char* strategy :
       {"allreduce", "easgd_original", "easgd_sync1", "easgd_sync3", "local_sgd", "sgp"}) {
    const std::string name = strategy;
    Run(name + "-threads", Replicas(4, name));
    Simulated(
        name + "-virtual",
        {.latency = 1e-4, .bytes_per_second = 1e8, .service = OnlyOperations(kOperationsPerSecond)},
        Replicas(4, name));
    EXPECT_EQ(Kept(name + "-threads", "model.safetensors"),
              Kept(name + "-virtual", "model.safetensors"))
        << name;
  }
}

TEST_F(VirtualTime, AsynchronousRunsAreTheSameTwice) {
  for (const char* strategy : {"async_sgd", "ad_psgd", "compute_groups", "easgd_async",
                               "easgd_hogwild", "gossip_pull", "gossip_push"}) {
    const std::string name = strategy;
    const SimulatedRanks cluster = {
        .latency = 1e-4,
        .bytes_per_second = 1e8,
        .service = ExponentialService(OnlyOperations(kOperationsPerSecond), 1, 4)};
    const SimulatedRanks again = {
        .latency = 1e-4,
        .bytes_per_second = 1e8,
        .service = ExponentialService(OnlyOperations(kOperationsPerSecond), 1, 4)};
    const EndEvent a = Simulated(name + "-a", cluster, Replicas(4, name));
    const EndEvent b = Simulated(name + "-b", again, Replicas(4, name));
    EXPECT_EQ(a.virtual_seconds, b.virtual_seconds) << name;
    EXPECT_EQ(Kept(name + "-a", "model.safetensors"), Kept(name + "-b", "model.safetensors"));
  }
}

TEST_F(VirtualTime, OneReplicaTakesTheTimeOfItsOperations) {
  const EndEvent end = Simulated("one", {.service = OnlyOperations(kOperationsPerSecond)}, {});
  const double expected = Operations({}) / kOperationsPerSecond;
  EXPECT_GE(end.virtual_seconds, expected);
  EXPECT_LT(end.virtual_seconds, 1.3 * expected);  // updates are charged besides
  EXPECT_NEAR(end.seconds, end.virtual_seconds, 1e-9);
}

TEST_F(VirtualTime, MoreReplicasAreFasterUntilTheyShareTheCores) {
  const auto seconds = [&](const std::string& name, SimulatedRanks cluster, int replicas) {
    cluster.service = OnlyOperations(kOperationsPerSecond);
    return Simulated(name, cluster, Replicas(replicas, replicas == 1 ? "none" : "allreduce"))
        .virtual_seconds;
  };
  const double one = seconds("one", {}, 1);
  EXPECT_NEAR(seconds("four", {}, 4), one / 4, 0.1 * one);
  EXPECT_NEAR(seconds("shared", {.ranks_per_node = 4, .cores = 2}, 4), one / 2, 0.1 * one);
}

TEST_F(VirtualTime, BackwardHidesTheExchange) {
  // An exchange as long as a step's computing: with buckets most of it runs beside the backward.
  const auto seconds = [&](const std::string& name, const char* bucket_mb) {
    Overrides job = Replicas(2, "allreduce");
    job.push_back({.key = "model.widths", .value = "[64, 64, 64, 64]"});
    job.push_back({.key = "cluster.bucket_mb", .value = bucket_mb});
    return Simulated(
               name,
               {.bytes_per_second = 5e8, .service = OnlyOperations(kOperationsPerSecond * 50)}, job)
        .virtual_seconds;
  };
  EXPECT_LT(seconds("buckets", "0.001"), 0.97 * seconds("whole", "100"));
}

// Sums in a group, its push and the answer, layer by layer.
TEST_F(VirtualTime, BackwardHidesWhatGroupsExchange) {
  for (const char* form : {"yoke", "paper"})
    for (const char* groups : {"1", "2", "4"}) {
      const auto seconds = [&](const std::string& name, const char* bucket_mb) {
        Overrides job = Replicas(4, "compute_groups");
        job.push_back({.key = "model.widths", .value = "[64, 256, 256]"});
        job.push_back({.key = "cluster.form", .value = form});
        job.push_back({.key = "cluster.groups", .value = groups});
        job.push_back({.key = "cluster.bucket_mb", .value = bucket_mb});
        return Simulated(
                   name + form + groups,
                   {.bytes_per_second = 1e9, .service = OnlyOperations(kOperationsPerSecond * 50)},
                   job)
            .virtual_seconds;
      };
      const double whole = seconds("whole", "100"), layers = seconds("layers", "0");
      EXPECT_LT(layers, 0.97 * whole) << form << ", " << groups << " groups";
      RecordProperty(std::string(form) + groups, std::to_string(layers / whole));
      if (groups[0] == '1') {  // one order of sums
        EXPECT_EQ(Kept("whole" + std::string(form) + groups, "model.safetensors"),
                  Kept("layers" + std::string(form) + groups, "model.safetensors"));
      }
    }
}

// The workers' part of a served head is the body, and the head's time is its server's.
TEST_F(VirtualTime, AServedHeadIsPricedOnce) {
  Overrides job = Replicas(2, "compute_groups");
  job.push_back({.key = "cluster.groups", .value = "1"});
  const SimulatedRanks cluster = {.service = OnlyOperations(kOperationsPerSecond)};
  const double whole = Simulated("whole", cluster, job).virtual_seconds;
  job.push_back({.key = "cluster.served_head", .value = "true"});
  const double served = Simulated("served", cluster, job).virtual_seconds;
  // Its head has 1.3 % of the operations; all of them are done once instead of by each.
  EXPECT_NEAR(served, whole, 0.05 * whole);
}

TEST_F(VirtualTime, AnExecutorThatUpdatesInPlaceTakesItsTime) {
  const Overrides hogwild = {{"node.executor", "hogwild"}};
  const EndEvent end =
      Simulated("in-place", {.service = OnlyOperations(kOperationsPerSecond)}, hogwild);
  EXPECT_NEAR(end.virtual_seconds, Operations({}) / kOperationsPerSecond,
              0.05 * end.virtual_seconds);
  Run("really", hogwild);
  EXPECT_EQ(Kept("in-place", "model.safetensors"), Kept("really", "model.safetensors"));
}

TEST_F(VirtualTime, TheAllReduceIsTheJobs) {
  const auto seconds = [&](const char* algorithm) {
    Overrides job = Replicas(4, "allreduce");
    job.push_back({.key = "cluster.all_reduce", .value = algorithm});
    job.push_back({.key = "train.epochs", .value = "20"});
    return Simulated(algorithm, {.latency = 1e-2, .bytes_per_second = 1e9}, job).virtual_seconds;
  };
  // Latencies alone, 80 steps: 2 (P - 1) against 2 log2 P.
  const double difference = seconds("ring") - seconds("halving");
  EXPECT_NEAR(difference, 80 * 2 * 1e-2, 0.2);
}

TEST_F(VirtualTime, StepSecondsLeaveMeetingsOut) {
  // A latency of a few thousandths: an exchange hides behind a gradient, and meetings hide nowhere.
  const SimulatedRanks cluster = {.latency = 4e-3, .service = OnlyOperations(kOperationsPerSecond)};
  const EndEvent end = Simulated("meetings", cluster, Replicas(4, "gossip_pull"));
  const double steps = Operations({}) / kOperationsPerSecond / 4;
  EXPECT_GE(MetricOf(end.exchange, "step_seconds"), steps);
  EXPECT_LT(MetricOf(end.exchange, "step_seconds"), 1.4 * steps);
  EXPECT_GT(end.virtual_seconds, 1.8 * steps);
}

TEST_F(VirtualTime, ATimeLimitIsInVirtualSeconds) {
  const EndEvent end = Simulated("limit", {.service = OnlyOperations(1e5)},
                                 {{"train.time_limit", "10s"}, {"train.epochs", "1000"}});
  EXPECT_EQ(end.reason, "time_limit");
  const double step = Operations({}) / 32 / 1e5;
  EXPECT_NEAR(end.virtual_seconds, 10 + step, 2 * step);
}

}  // namespace yoke::virtual_time_test
