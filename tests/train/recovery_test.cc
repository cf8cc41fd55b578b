// What ranks that are left of a world agree to go on from.
#include "train/recovery/recovery.h"

#include <gmock/gmock.h>

#include <functional>
#include <vector>

#include "comm/threads.h"

namespace yoke::recovery_test {

/// In a world of 4 whose ranks met at step 10, 80 examples into the epoch.
SurvivorState Left(int rank, int64_t own_begin, int64_t own_end, int64_t version = 0) {
  SurvivorState r = {.rank = rank,
                     .world = 4,
                     .worlds = 1,
                     .loss_sum = 1.0 + rank,
                     .loss_examples = 8,
                     .step_examples = 8,
                     .version = version};
  r.position.epoch = 2;
  r.position.step = 10;
  r.position.examples = 1000;
  r.position.consumed.Add(0, 80);
  r.position.loss_sum = 100;
  r.position.loss_examples = 80;
  r.consumed = r.position.consumed;
  r.consumed.Add(own_begin, own_end);
  return r;
}

/// What all agree on, when each new rank has this (nothing where it is empty).
std::optional<RecoveryPlan> Agree(const std::vector<std::optional<SurvivorState>>& have) {
  std::optional<RecoveryPlan> first;
  std::vector<std::optional<RecoveryPlan>> all(have.size());
  RunThreads({.ranks = static_cast<int>(have.size())}, [&](const Communicator& world) {
    const std::optional<SurvivorState>& mine = have[world.rank()];
    all[world.rank()] = PlanRecovery(world, mine ? &*mine : nullptr);
  });
  for (const auto& one : all) {
    EXPECT_EQ(one.has_value(), all[0].has_value());
    if (!one || !all[0]) continue;
    EXPECT_EQ(one->source, all[0]->source);
    EXPECT_EQ(one->position.consumed, all[0]->position.consumed);
  }
  return all[0];
}

TEST(SurvivorState, NobodyIsLostAtFirst) { EXPECT_FALSE(Agree({{}, {}, {}})); }

TEST(SurvivorState, ALossBeforeTheFirstStepIsKnown) {
  const auto recovery =
      Agree({SurvivorState{.rank = 0, .world = 3}, SurvivorState{.rank = 2, .world = 3}});
  ASSERT_TRUE(recovery);
  EXPECT_FALSE(recovery->trained());
  EXPECT_THAT(recovery->lost, testing::ElementsAre(1));
  EXPECT_EQ(recovery->world, 3);
}

TEST(SurvivorState, WhatAnybodyHasConsumedIsNotDealtAgain) {
  const auto recovery = Agree({Left(0, 80, 88), Left(1, 96, 112), Left(3, 88, 96)});
  ASSERT_TRUE(recovery);
  Ranges consumed;
  consumed.Add(0, 112);
  EXPECT_EQ(recovery->position.consumed, consumed);
  EXPECT_EQ(recovery->position.epoch, 2);
  EXPECT_EQ(recovery->position.step, 14);  // 32 examples further
  EXPECT_EQ(recovery->position.loss_examples, 80 + 3 * 8);
  EXPECT_DOUBLE_EQ(recovery->position.loss_sum, 100 + 1 + 2 + 4);
  EXPECT_THAT(recovery->lost, testing::ElementsAre(2));
  EXPECT_EQ(recovery->world, 4);
}

TEST(SurvivorState, TheNewestModelCounts) {
  EXPECT_EQ(Agree({Left(0, 80, 88, 5), Left(1, 88, 96, 7), Left(2, 96, 104, 7)})->source, 1);
  // Without versions, who came furthest in the course of all.
  EXPECT_EQ(Agree({Left(0, 80, 88), Left(1, 80, 96), Left(2, 80, 88)})->source, 1);
}

TEST(SurvivorState, AModelCountsMoreThanAReplica) {
  SurvivorState replica = Left(0, 80, 96, 9);
  replica.model = false;
  const auto recovery = Agree({replica, Left(1, 80, 88)});
  EXPECT_EQ(recovery->source, 1);
  EXPECT_FALSE(recovery->mean);
}

TEST(SurvivorState, WithoutAModelTheMeanOfTheReplicasCounts) {
  SurvivorState a = Left(1, 80, 88), b = Left(2, 88, 96);
  a.model = b.model = false;
  EXPECT_TRUE(Agree({a, b})->mean);
}

TEST(SurvivorState, WhoHasFinishedTheEpochIsAhead) {
  SurvivorState ahead = Left(2, 0, 0);
  ahead.position = {.epoch = 3, .step = 125, .examples = 1000};
  ahead.consumed = {};
  ahead.loss_sum = 0, ahead.loss_examples = 0;
  const auto recovery = Agree({Left(0, 80, 1000), ahead});
  EXPECT_EQ(recovery->position.epoch, 3);
  EXPECT_EQ(recovery->position.consumed.Count(), 0);
  EXPECT_EQ(recovery->position.step, 125);
  EXPECT_EQ(recovery->position.loss_examples, 0);
}

TEST(SurvivorState, ARankThatHasNothingTakesPartAndIsNotLost) {
  const auto recovery = Agree({SurvivorState{.rank = 0, .world = 4}, Left(1, 80, 88)});
  EXPECT_EQ(recovery->source, 1);
  EXPECT_THAT(recovery->lost, testing::ElementsAre(2, 3));
  EXPECT_FALSE(Agree({SurvivorState{.rank = 0, .world = 2}})->trained());
}

TEST(SurvivorState, WhoTrainedInTheNewestWorldIsNewer) {
  SurvivorState old = Left(0, 80, 88, 500), newer = Left(1, 88, 96, 3);
  newer.worlds = 2;
  EXPECT_EQ(Agree({old, newer})->source, 1);
}

TEST(SurvivorState, OnlyWhoLedKnowsTheBestValue) {
  SurvivorState leader = Left(0, 80, 88), other = Left(1, 88, 96);
  leader.position.has_best = other.position.has_best = true;
  leader.position.best = 0.9, other.position.best = 0.5;
  EXPECT_EQ(Agree({leader, other})->position.best, 0.9);
  EXPECT_FALSE(Agree({other})->position.has_best);
}

}  // namespace yoke::recovery_test
