// The laws that "How to Scale Distributed Deep Learning?" (Jin, Yuan, Iandola, Keutzer, 2016, arXiv
// 1611.04581) compares all-reduce and gossip by, in virtual time: what a node sends in a step, and
// what a slow node costs.
#include <gtest/gtest.h>

#include "strategy/support/sent.h"

namespace yoke::scaling_laws_test {

constexpr double kModel = (test::kCount + 11) * 4;  // bytes

TEST(ScalingLaws, ANodeSendsAModelInAnExchangeOfGossip) {
  for (const char* strategy : {"gossip_pull", "gossip_push"})
    for (const int ranks : {2, 3, 8, 32})
      for (const int64_t period : {1, 4}) {
        const Cost sent =
            test::Sent(strategy, {{"period", period}},
                       {.ranks = ranks, .latency = 1e-3, .bytes_per_second = 1e6}, 16);
        const double expected = kModel / static_cast<double>(period);
        EXPECT_NEAR(sent.message_bytes / ranks, expected, 0.05 * expected)
            << strategy << ", " << ranks << " ranks, period " << period;
      }
}

TEST(ScalingLaws, ANodeSendsAlmostTwoModelsInAnAllReduce) {
  for (const auto algorithm : {AllReduceAlgorithm::kRing, AllReduceAlgorithm::kHalving})
    for (const int ranks : {2, 4, 8, 32}) {
      const SimulatedRanks cluster = {
          .ranks = ranks, .latency = 1e-3, .bytes_per_second = 1e6, .all_reduce = algorithm};
      const Cost sent = test::Sent("allreduce", {}, cluster, 16);
      const double expected = 2 * kModel * (ranks - 1) / ranks;
      EXPECT_NEAR(sent.message_bytes / ranks, expected, 0.05 * expected) << ranks << " ranks";
    }
}

/// Steps of all ranks per second, on a fast network. A gradient takes a second, of a slow node two.
double StepsPerSecond(const std::string& strategy, int ranks, int slow) {
  constexpr double kSeconds = 200;
  int64_t steps = 0;
  const ServiceTime gradients_only = [slow](int rank, const Cost& cost) {
    return cost.bytes > 0 ? 0 : (rank == slow ? 2 : 1) * cost.operations;
  };
  Simulate(
      {.ranks = ranks, .latency = 1e-5, .service = gradients_only}, [&](const Communicator& world) {
        test::Lab lab(
            world, {.strategy = strategy, .gradient = test::PullToRank, .seconds_of_gradient = 1});
        // The middle of a step: ranks in step agree on the last one.
        for (; world.Now() < kSeconds - 0.5; ++steps) lab.Step();
        lab.strategy->Finish();
      });
  return static_cast<double>(steps) / kSeconds;
}

TEST(ScalingLaws, ASlowNodeCostsTheOthersOnlyInStep) {
  for (const int ranks : {8, 16, 32}) {
    const auto lost = [ranks](const char* strategy) {
      return 1 - StepsPerSecond(strategy, ranks, 1) / StepsPerSecond(strategy, ranks, -1);
    };
    EXPECT_NEAR(lost("allreduce"), 0.5, 0.01) << ranks;
    for (const char* strategy : {"gossip_pull", "gossip_push", "async_sgd", "easgd_async"})
      EXPECT_LE(lost(strategy), 1.0 / ranks) << strategy << ", " << ranks << " ranks";
  }
}

}  // namespace yoke::scaling_laws_test
