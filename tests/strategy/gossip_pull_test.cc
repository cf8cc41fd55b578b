// gossip_pull: its recurrence restated, and the laws of its consensus.
#include <gtest/gtest.h>

#include "strategy/support/cloud.h"

namespace yoke {
namespace {

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

// Two ranks are each other's only peers, so that the recurrence needs no draws:
//   x_i <- (x_i + x_j) / 2 - rate g(x_i), both from before the step.
TEST(GossipPull, IsItsRecurrence) {
  std::vector<std::vector<double>> x(2, std::vector<double>(kCount));
  std::vector<std::vector<float>> ends(2);
  Simulate({.ranks = 2, .service = SteadyService(1, 1e30)}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "gossip_pull",
                    .steps = 5,
                    .gradient = test::PullToRank,
                    .seconds_of_gradient = 1});
    const std::vector<float> start = lab.Values();
    x[world.rank()].assign(start.begin(), start.end());
    lab.Steps();
    ends[world.rank()] = lab.Values();
    lab.strategy->Finish();
  });
  for (int step = 0; step < 5; ++step) {
    const auto before = x;
    for (int rank : {0, 1})
      for (int64_t i = 0; i < kCount; ++i)
        if (!Lab::Padding(i))
          x[rank][i] = (before[rank][i] + before[1 - rank][i]) / 2 -
                       0.1 * (before[rank][i] - rank - static_cast<double>(i) / 10);
  }
  for (int rank : {0, 1})
    for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(ends[rank][i], x[rank][i], 1e-5);
}

}  // namespace
}  // namespace yoke
