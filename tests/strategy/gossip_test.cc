// Gossip: the recurrences restated with the same draws, the laws of consensus, and what weights
// keep.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "strategy/support/lab.h"
#include "strategy/support/worlds.h"

namespace yoke {
namespace {

using test::kCount;
using test::Lab;

/// The values of all ranks after some rounds without gradients, from random values with mean 0.
struct Cloud {
  std::vector<std::vector<float>> values;

  std::vector<double> Mean() const {
    std::vector<double> mean(kCount);
    for (const auto& x : values)
      for (int64_t i = 0; i < kCount; ++i) mean[i] += x[i] / static_cast<double>(values.size());
    return mean;
  }
  /// E |x_i - mean|^2 over ranks.
  double Consensus() const {
    const std::vector<double> mean = Mean();
    double sum = 0;
    for (const auto& x : values)
      for (int64_t i = 0; i < kCount; ++i) sum += (x[i] - mean[i]) * (x[i] - mean[i]);
    return sum / static_cast<double>(values.size());
  }
};

float Noise(int rank, int64_t i, uint64_t seed) {
  Random random({seed, static_cast<uint64_t>(rank), static_cast<uint64_t>(i)});
  return static_cast<float>(random.Normal());
}

/// Rounds in step: every rank's gradient takes a second, messages take no time.
void Rounds(int ranks, const std::string& strategy, const Table& options, int64_t rounds,
            uint64_t seed, Cloud& before, Cloud& after) {
  before.values.assign(ranks, {});
  after.values.assign(ranks, {});
  const ServiceTime service = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = ranks, .service = service}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = strategy,
                    .options = options,
                    .rate = 0,
                    .steps = rounds,
                    .gradient = test::PullToRank,
                    .seconds_of_gradient = 1,
                    .seed = seed});
    for (int64_t i = 0; i < kCount; ++i)
      lab.params.values()[i] = Lab::Padding(i) ? 0 : Noise(world.rank(), i, seed);
    before.values[world.rank()] = lab.Values();
    lab.Steps();
    lab.strategy->Quiesce();
    after.values[world.rank()] = lab.Values();
    lab.strategy->Finish();
  });
}

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

TEST(GossipPushLaw, WeightsKeepTheWeightedMean) {
  constexpr int kRanks = 8;
  std::vector<double> before(kCount), after(kCount);
  double weights = 0;
  Simulate({.ranks = kRanks, .latency = 1e-3}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "gossip_push",
                    .options = Table{{"weights", true}},
                    .rate = 0,
                    .steps = 30,
                    .gradient = test::PullToRank,
                    .seconds_of_gradient = 1});
    for (int64_t i = 0; i < kCount; ++i) {
      lab.params.values()[i] = Lab::Padding(i) ? 0 : Noise(world.rank(), i, 1);
      before[i] += lab.params.values()[i] / static_cast<double>(kRanks);
    }
    lab.Steps();
    lab.strategy->Quiesce();
    const Value state = lab.strategy->State();
    const double weight = *state.Find("weight")->AsFloat();
    weights += weight;
    for (int64_t i = 0; i < kCount; ++i) after[i] += weight * lab.Values()[i];
    lab.strategy->Finish();
  });
  EXPECT_NEAR(weights, 1, 1e-12);
  for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(after[i], before[i], 1e-5);
}

TEST(GossipPushLaw, BringsReplicasTogether) {
  for (const bool weights : {false, true}) {
    Cloud before, after;
    Rounds(8, "gossip_push", Table{{"weights", weights}}, 40, 1, before, after);
    EXPECT_LT(after.Consensus(), 0.05 * before.Consensus()) << weights;
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
