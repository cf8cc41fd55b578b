// Schedules followed by all ranks together, without messages.
#include "comm/collective_schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace yoke::collective_schedules_test {

constexpr int kMostRanks = 17;
using Values = std::vector<std::vector<int64_t>>;  // of each rank

/// What the schedule makes of the values; each message must be awaited by its receiver. Counts
/// them.
Values Followed(const CollectiveSchedule& schedule, Values values, int64_t* messages = nullptr) {
  for (int round = 0; round < schedule.rounds(); ++round) {
    const Values before = values;
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      const CollectiveSchedule::Move move = schedule.At(rank, round);
      if (move.to >= 0) {
        EXPECT_EQ(schedule.At(move.to, round).from, rank);
      }
      if (move.from < 0) continue;
      const CollectiveSchedule::Move theirs = schedule.At(move.from, round);
      EXPECT_EQ(theirs.to, rank);
      EXPECT_EQ(theirs.sent.index, move.received.index);
      EXPECT_EQ(theirs.sent.of, move.received.of);
      if (messages) ++*messages;
      const auto [begin, count] = schedule.RangeOf(move.received, std::ssize(values[rank]));
      for (int64_t i = begin; i < begin + count; ++i)
        values[rank][i] = before[move.from][i] + (move.adds ? values[rank][i] : 0);
    }
  }
  return values;
}

/// Each rank's are its own.
Values Given(int ranks, int64_t elements) {
  Values values(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    for (int64_t i = 0; i < elements; ++i) values[rank].push_back((int64_t{1} << rank) + 1000 * i);
  return values;
}

std::vector<int64_t> SumsOf(const Values& values) {
  std::vector<int64_t> sums(values[0].size());
  for (const auto& each : values)
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += each[i];
  return sums;
}

class Schedules : public testing::TestWithParam<int> {
 protected:
  const int ranks_ = GetParam();
};

TEST_P(Schedules, AllReduceGivesEachRankAllSums) {
  for (const auto algorithm :
       {AllReduceAlgorithm::kRing, AllReduceAlgorithm::kTree, AllReduceAlgorithm::kHalving})
    for (const int64_t elements : {0, 1, 7, 16, 37}) {
      const Values given = Given(ranks_, elements);
      const CollectiveSchedule schedule = CollectiveSchedule::AllReduce(algorithm, ranks_);
      EXPECT_EQ(Followed(schedule, given), Values(ranks_, SumsOf(given)))
          << static_cast<int>(algorithm) << ": " << elements;
    }
}

TEST_P(Schedules, TreesHaveAnyRoot) {
  for (int root = 0; root < ranks_; ++root) {
    const Values given = Given(ranks_, 3);
    EXPECT_EQ(Followed(CollectiveSchedule::Reduce(ranks_, root), given)[root], SumsOf(given));
    EXPECT_EQ(Followed(CollectiveSchedule::Broadcast(ranks_, root), given),
              Values(ranks_, given[root]));
  }
}

/// Rank r has given value r alone.
TEST_P(Schedules, GatherGivesEachRankAllParts) {
  Values given(ranks_, std::vector<int64_t>(ranks_));
  std::vector<int64_t> all(ranks_);
  std::iota(all.begin(), all.end(), 1);
  for (int rank = 0; rank < ranks_; ++rank) given[rank][rank] = all[rank];
  EXPECT_EQ(Followed(CollectiveSchedule::Gather(ranks_), given), Values(ranks_, all));
}

TEST_P(Schedules, BarrierHearsFromAll) {
  const CollectiveSchedule schedule = CollectiveSchedule::Barrier(ranks_);
  std::vector<unsigned> heard(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) heard[rank] = 1U << rank;
  for (int round = 0; round < schedule.rounds(); ++round) {
    const std::vector<unsigned> before = heard;
    for (int rank = 0; rank < ranks_; ++rank) heard[rank] |= before[schedule.At(rank, round).from];
  }
  EXPECT_EQ(heard, std::vector<unsigned>(ranks_, (1U << ranks_) - 1));
}

TEST_P(Schedules, HaveTheMessagesOfTheirCost) {
  for (const int64_t bytes : {4, 1 << 20}) {
    int64_t messages = 0;
    const auto algorithm = ChooseAllReduce(bytes, ranks_);
    Followed(CollectiveSchedule::AllReduce(algorithm, ranks_), Given(ranks_, 1), &messages);
    EXPECT_EQ(CostOfAllReduce(bytes, ranks_).messages, messages);
  }
  int64_t messages = 0;
  Followed(CollectiveSchedule::Broadcast(ranks_), Given(ranks_, 1), &messages);
  EXPECT_EQ(CostOfTree(4, ranks_).messages, messages);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Schedules, testing::Range(1, kMostRanks + 1));

}  // namespace yoke::collective_schedules_test
