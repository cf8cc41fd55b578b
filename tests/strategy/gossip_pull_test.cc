// gossip_pull: its recurrence in step, the laws of its consensus, and how often it exchanges.
#include <gtest/gtest.h>

#include "strategy/support/cloud.h"

namespace yoke::gossip_pull_test {

using test::Cloud;
using test::kCount;
using test::Lab;
using test::Rounds;

// One round of pull gossip halves E|x_i - mean|^2 (about the old mean) and moves the mean by about
// 1/(4p) of it.
TEST(GossipPullLaw, HalvesTheConsensusErrorAndInjectsAQuarterOverP) {
  for (const int ranks : {8, 16}) {
    double kept = 0, injected = 0, start = 0;
    constexpr int kRuns = 40;
    for (int run = 0; run < kRuns; ++run) {
      Cloud before, after;
      Rounds(ranks, "gossip_pull", {}, 1, 1 + run, before, after);
      const std::vector<double> mean = before.Mean(), moved = after.Mean();
      for (int64_t i = 0; i < kCount; ++i) injected += (moved[i] - mean[i]) * (moved[i] - mean[i]);
      for (const auto& x : after.values)
        for (int64_t i = 0; i < kCount; ++i) kept += (x[i] - mean[i]) * (x[i] - mean[i]) / ranks;
      start += before.Consensus();
    }
    // With j drawn among the others: E|(x_i + x_j) / 2|^2 = (1/2)(1 - 1/(p - 1)) of the start.
    EXPECT_NEAR(kept / start, 0.5 * (1 - 1.0 / (ranks - 1)), 0.03) << ranks;
    EXPECT_NEAR(injected / start * 4 * ranks, 1, 0.25) << ranks;
  }
}

/// Of 8 ranks' exchanges in 100 rounds, so many began.
TEST(GossipPull, ExchangesWithItsProbability) {
  int64_t received = 0;
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = 8, .service = gradients_only}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "gossip_pull",
                    .options = Table{{"period", 2}, {"probability", 0.25}},
                    .steps = 200,
                    .gradient = test::PullToRank,
                    .seconds_of_gradient = 1});
    lab.Steps();
    lab.strategy->Finish();
    received += lab.strategy->Counts().traffic.bytes_received;
  });
  const double models = static_cast<double>(received) / (64 * 4);
  EXPECT_NEAR(models, 8 * 100 * 0.25, 40);
}

TEST(GossipPull, IsItsRecurrence) { test::ExpectHalfway("gossip_pull"); }

}  // namespace yoke::gossip_pull_test
