// gossip_push: its recurrence in step, what weights keep, that replicas come together, what late
// messages cost, and that no queue grows.
#include <gtest/gtest.h>

#include <cstring>

#include "strategy/support/cloud.h"

namespace yoke::gossip_push_test {

using test::Cloud;
using test::kCount;
using test::Lab;
using test::Noise;
using test::Rounds;

// Two ranks in step: what one sends lands in the same step of the other.
TEST(GossipPush, IsItsRecurrence) { test::ExpectHalfway("gossip_push"); }

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
      lab.params.values().Host()[i] = Lab::Padding(i) ? 0 : Noise(world.rank(), i, 1);
      before[i] += lab.params.values().Host()[i] / static_cast<double>(kRanks);
    }
    lab.Steps();
    lab.strategy->Quiesce();
    double weight = 0;
    std::memcpy(&weight, lab.strategy->Tensors().at(0).values.data, sizeof weight);
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

/// How far the mean of 8 ranks moves in a step, in sizes of a rank's own steps, which are all
/// equal.
double SpeedOfMean(double latency) {
  constexpr int kRanks = 8, kSteps = 200;
  constexpr double kRate = 0.125;
  double moved = 0;
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = kRanks, .latency = latency, .service = gradients_only},
           [&](const Communicator& world) {
             Lab lab(world, {.strategy = "gossip_push",
                             .rate = kRate,
                             .steps = kSteps,
                             .gradient = [](const test::Asked& asked) { asked.gradient[0] = -1; },
                             .seconds_of_gradient = 1});
             moved -= lab.Values()[0];
             lab.Steps();
             moved += lab.Values()[0];
             lab.strategy->Finish();
           });
  return moved / (kRanks * kSteps * kRate);
}

// Values that come d steps late are d steps old: u = step - f d u. A node receives n messages a
// step, which have f = E n / (1 + n) = 0.38 in its mean.
TEST(GossipPushLaw, LateMessagesSlowTheMean) {
  EXPECT_NEAR(SpeedOfMean(0.5), 1, 1e-3);
  EXPECT_NEAR(SpeedOfMean(1.5), 1 / 1.38, 0.03);
}

// Steps take no time. Four messages of one packet travel at once; the others wait for these.
TEST(GossipPushLaw, ASenderWaitsForAnswers) {
  constexpr int kSteps = 20, kUnanswered = 4;
  const SimulatedRanks slow = {.ranks = 3, .timeout = 1e9, .bytes_per_second = 1};
  Simulate(slow, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "gossip_push", .steps = kSteps, .gradient = test::PullToRank});
    lab.Steps();
    EXPECT_GE(world.Now(), (kSteps / kUnanswered - 1) * kCount * sizeof(float));
    lab.strategy->Finish();
  });
}

}  // namespace yoke::gossip_push_test
