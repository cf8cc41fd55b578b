// MeasuredUses: what trials with known curves tell.
#include "plan/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::measured_uses_test {

constexpr double kNoise = 100;
const ExampleUse kAllReduce = {.batch = 64};

/// A loss that falls from 2 as exp(-examples / (1000 x ratio)), in so many points of 100 examples.
TriedUse Tried(const ExampleUse& use, double ratio, int points = 20) {
  TriedUse tried = {.use = use, .first_loss = 2};
  for (int i = 1; i <= points; ++i)
    tried.curve.push_back(
        {.seconds = 0.1 * i, .examples = 100.0 * i, .loss = 2 * std::exp(-0.1 * i / ratio)});
  return tried;
}

std::vector<double> RatiosOf(const std::vector<TriedUse>& tried) {
  std::vector<double> ratios;
  for (const MeasuredUse& one : MeasuredUses(tried, kNoise)) ratios.push_back(one.examples);
  return ratios;
}

TEST(MeasuredUses, AreBesideSynchronousUpdates) {
  const ExampleUse late = {.batch = 64, .staleness = 7};
  const auto measured = MeasuredUses({Tried(late, 1.5), Tried(kAllReduce, 1)}, kNoise);
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].use.staleness, 7);
  EXPECT_NEAR(measured[0].examples, 1.5, 0.1);
}

/// Gossip exchanges in every step, but with one other.
TEST(MeasuredUses, GossipIsNotSynchronous) {
  const ExampleUse gossip = {.batch = 64, .interval = 1, .mixing = 0.125};
  ASSERT_FALSE(gossip.IsSynchronous());
  const auto measured = MeasuredUses({Tried(gossip, 1.5), Tried(kAllReduce, 1)}, kNoise);
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].use.mixing, 0.125);
  EXPECT_NEAR(measured[0].examples, 1.5, 0.1);
  const ExampleUse late = {.batch = 64, .staleness = 7};
  EXPECT_TRUE(RatiosOf({Tried(gossip, 1.5), Tried(late, 1)}).empty());
}

/// Smaller batches need fewer examples, whatever else they are.
TEST(MeasuredUses, TheBatchesPartIsNotTheirs) {
  const double by_batch = (kNoise + 16) / (kNoise + 64);
  const ExampleUse small = {.batch = 16, .staleness = 3};
  const auto ratios = RatiosOf({Tried(kAllReduce, 1), Tried(small, by_batch)});
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_NEAR(ratios[0], 1, 0.07);
}

TEST(MeasuredUses, TrialsThatHaveNotLearnedTellNothing) {
  const ExampleUse late = {.batch = 64, .staleness = 7};
  EXPECT_TRUE(RatiosOf({Tried(kAllReduce, 1), Tried(late, 1000)}).empty());
  TriedUse trained = Tried(kAllReduce, 1);  // from a checkpoint with the loss it still has
  trained.first_loss = trained.curve.back().loss;
  EXPECT_TRUE(RatiosOf({trained, Tried(late, 1.5)}).empty());
}

TEST(MeasuredUses, LossesOfTheStartTellNothing) {
  const ExampleUse late = {.batch = 64, .staleness = 7};
  EXPECT_TRUE(RatiosOf({Tried(kAllReduce, 1, 50), Tried(late, 20, 50)}).empty());
  EXPECT_EQ(RatiosOf({Tried(kAllReduce, 1, 50), Tried(late, 3, 50)}).size(), 1U);
}

}  // namespace yoke::measured_uses_test
