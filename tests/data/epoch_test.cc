// An epoch is dealt once, to any number of ranks, from any point on.
#include "data/epoch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace yoke::epoch_test {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Ranges, MergeWhatTouches) {
  Ranges ranges;
  ranges.Add(10, 20);
  ranges.Add(0, 5);
  ranges.Add(30, 40);
  EXPECT_THAT(ranges.list(), ElementsAre(Pair(0, 5), Pair(10, 20), Pair(30, 40)));
  ranges.Add(5, 10);
  EXPECT_THAT(ranges.list(), ElementsAre(Pair(0, 20), Pair(30, 40)));
  ranges.Add(15, 35);
  ranges.Add(7, 7);
  EXPECT_THAT(ranges.list(), ElementsAre(Pair(0, 40)));
  EXPECT_EQ(ranges.Count(), 40);
}

TEST(Ranges, KnowWhatIsMissing) {
  Ranges ranges;
  ranges.Add(2, 4);
  ranges.Add(6, 8);
  EXPECT_THAT(ranges.Complement(10).list(), ElementsAre(Pair(0, 2), Pair(4, 6), Pair(8, 10)));
  EXPECT_THAT(ranges.Complement(8).list(), ElementsAre(Pair(0, 2), Pair(4, 6)));
  EXPECT_THAT(Ranges().Complement(0).list(), ElementsAre());
}

std::vector<int64_t> Deal(EpochDeal deal, const Ranges& consumed) {
  std::vector<int64_t> dealt;
  for (deal.rank = 0; deal.rank < deal.world; ++deal.rank) {
    const EpochPlan plan(deal, consumed);
    for (int64_t step = 0; step < plan.Steps(); ++step)
      for (const int64_t example : plan.Part(step)) dealt.push_back(example);
  }
  std::sort(dealt.begin(), dealt.end());
  return dealt;
}

TEST(EpochPlan, DealsEveryExampleOnce) {
  for (const int world : {1, 2, 3, 7})
    for (const int64_t batch : {1, 4, 64}) {
      std::vector<int64_t> all(101);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(Deal({.examples = 101, .batch = batch, .world = world}, {}), all)
          << world << " " << batch;
    }
}

TEST(EpochPlan, SplitsTheLastStepEvenly) {
  std::vector<size_t> shares;
  for (int rank = 0; rank < 3; ++rank) {
    const EpochPlan plan({.examples = 17, .batch = 4, .rank = rank, .world = 3}, {});
    EXPECT_EQ(plan.Steps(), 2);
    EXPECT_EQ(plan.Part(0).size(), 4U);
    shares.push_back(plan.Part(1).size());
  }
  std::sort(shares.begin(), shares.end());
  EXPECT_THAT(shares, ElementsAre(1, 2, 2));
  EXPECT_TRUE(EpochPlan({.examples = 1, .rank = 0, .world = 2}, {}).Part(0).empty());
}

TEST(EpochPlan, DependsOnSeedAndEpochAlone) {
  auto order = [](uint64_t seed, int64_t epoch, int64_t batch) {
    const EpochPlan plan({.seed = seed, .epoch = epoch, .examples = 50, .batch = batch}, {});
    std::vector<int64_t> all;
    for (int64_t step = 0; step < plan.Steps(); ++step)
      all.insert(all.end(), plan.Part(step).begin(), plan.Part(step).end());
    return all;
  };
  EXPECT_EQ(order(1, 0, 7), order(1, 0, 50));
  EXPECT_NE(order(1, 0, 7), order(1, 1, 7));
  EXPECT_NE(order(1, 0, 7), order(2, 0, 7));
}

TEST(EpochPlan, GoesOnWhereItStoppedWithAnotherWorld) {
  const EpochPlan whole({.examples = 100, .batch = 8}, {});
  Ranges consumed;
  std::vector<int64_t> done;
  for (int64_t step = 0; step < 5; ++step) {
    done.insert(done.end(), whole.Part(step).begin(), whole.Part(step).end());
    whole.Consume(step, consumed);
  }
  EXPECT_THAT(consumed.list(), ElementsAre(Pair(0, 40)));
  const EpochPlan later({.examples = 100, .batch = 8}, consumed);
  EXPECT_TRUE(std::ranges::equal(later.Part(0), whole.Part(5)));
  std::vector<int64_t> rest = Deal({.examples = 100, .batch = 3, .world = 4}, consumed);
  rest.insert(rest.end(), done.begin(), done.end());
  std::sort(rest.begin(), rest.end());
  std::vector<int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(rest, all);
}

TEST(EpochPlan, ConsumesAcrossHoles) {
  Ranges consumed;
  consumed.Add(3, 5);
  consumed.Add(8, 9);
  const EpochPlan plan({.examples = 12, .batch = 5}, consumed);
  Ranges taken;
  plan.Consume(0, taken);
  EXPECT_THAT(taken.list(), ElementsAre(Pair(0, 3), Pair(5, 7)));
  plan.Consume(1, taken);
  EXPECT_THAT(taken.list(), ElementsAre(Pair(0, 3), Pair(5, 8), Pair(9, 12)));
  EXPECT_THROW(plan.Consume(2, taken), Error);
}

}  // namespace yoke::epoch_test
