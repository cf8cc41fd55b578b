// Tuning: the grids of rates and momenta, and which one is the best.
#include "plan/tuning.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "plan/support/small_job.h"

namespace yoke::tuning_test {

using test::SmallJob;
using testing::Contains;
using testing::HasSubstr;

std::vector<std::pair<double, double>> Pairs(const std::vector<Setting>& grid) {
  std::vector<std::pair<double, double>> pairs;
  pairs.reserve(grid.size());
  for (const Setting& one : grid) pairs.emplace_back(one.rate, one.momentum.value());
  return pairs;
}

class TuningTest : public testing::Test {
 protected:
  Trials Of(int64_t steps) {
    return {.data = data_,
            .run = run_,
            .folder = fmt::format("{}/{}", folder_.path(), calls_++),
            .steps = steps,
            .tell = [this](const std::string& text) { told_.push_back(text); }};
  }
  /// Of a momentum rule unless the keys say another.
  static Job JobWith(Overrides keys) {
    keys.push_back({"train.epochs", "1000"});
    return SmallJob(keys);
  }
  static void ExpectGood(const Tuned& found) {
    EXPECT_GE(found.best.rate, 0.003);
    EXPECT_LE(found.best.rate, 0.3);
    EXPECT_TRUE(std::filesystem::exists(found.run + "/last"));
    EXPECT_GT(found.trained, 0);
    EXPECT_GT(found.last.loss, 0);
  }

  TemporaryFolder folder_{"yoke-tuning-test"};
  DataSets data_ = OpenData(SmallJob().data(), 1);
  RunRequest run_;
  std::vector<std::string> told_;
  int calls_ = 0;
};

TEST_F(TuningTest, ARateOfTheGrid) {
  const Job job = JobWith({});
  const Tuned found = FindRate(job, Of(300));
  ExpectGood(found);
  EXPECT_EQ(found.best.momentum, 0.9);
  EXPECT_EQ(SettingOf(WithSetting(job, found.best)).rate, found.best.rate);
  EXPECT_EQ(
      FindRate(job, {.data = data_, .run = run_, .folder = folder_.path(), .steps = 300}).best.rate,
      found.best.rate);  // no clock decides
  EXPECT_THAT(told_, Contains(HasSubstr("learning rate 0.1: loss ")));
}

TEST_F(TuningTest, ARateOfTheRule) {
  const Tuned found = FindRate(JobWith({{"train.rule", "adam"}}), Of(300));
  EXPECT_GE(found.best.rate, 0.0001);
  EXPECT_LE(found.best.rate, 0.1);
  EXPECT_FALSE(found.best.momentum);
  EXPECT_THAT(told_[0], HasSubstr("learning rate 0.003: loss "));
}

TEST_F(TuningTest, ARangeTest) {
  ExpectGood(FindRateByRange(JobWith({}), Of(300)));
  EXPECT_THAT(told_[0], HasSubstr("learning rate 0.001: loss "));  // it rises
}

TEST_F(TuningTest, MomentaNeedFiftyUpdatesEach) {
  EXPECT_EQ(FewestMomentumSteps(JobWith({})), 250);
  EXPECT_EQ(FewestMomentumSteps(
                JobWith({{"cluster.replicas", "4"}, {"cluster.strategy", "\"gossip_push\""}})),
            1000);
}

TEST_F(TuningTest, ASignalEndsIt) {
  const std::atomic<int> signal = 15;
  run_.stop_signal = &signal;
  EXPECT_EQ(FindRate(JobWith({}), Of(300)).run, "");
  EXPECT_EQ(FindRateByRange(JobWith({}), Of(300)).run, "");
  EXPECT_EQ(TuneMomentum(JobWith({}), Of(300)).run, "");
}

TEST_F(TuningTest, TheGridSkipsWhatOmnivoreSkips) {
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(Pairs(GridAround({.rate = 1, .momentum = 0.9})),
              ElementsAre(Pair(0.1, 0.9), Pair(1, 0), Pair(1, 0.3), Pair(1, 0.6), Pair(1, 0.9)));
  EXPECT_THAT(
      Pairs(GridAround({.rate = 1, .momentum = 0.3})),
      ElementsAre(Pair(0.1, 0.3), Pair(0.1, 0.6), Pair(0.1, 0.9), Pair(1, 0), Pair(1, 0.3)));
  for (const double momentum : {0.0, 0.3, 0.45, 0.6, 0.9})
    EXPECT_LE(GridAround({.rate = 1, .momentum = momentum}).size(), 5U);
}

TEST_F(TuningTest, AMomentumOfTheGrid) {
  const Tuned found = TuneMomentum(JobWith({{"train.learning_rate", "0.02"}}), Of(150));
  ExpectGood(found);
  EXPECT_THAT(told_, Contains(HasSubstr("learning rate 0.02, momentum 0.9: loss ")));
}

TEST_F(TuningTest, WhatDivergesIsTold) {
  const Tuned found = TuneMomentum(
      JobWith({{"train.learning_rate", "1e4"}, {"train.momentum", "0"}, {"train.clip_norm", "0"}}),
      Of(150));
  EXPECT_EQ(found.tried.size(), 5U);
  size_t failed = 0;
  for (const TriedSetting& one : found.tried) {
    EXPECT_GT(one.steps, 0);
    failed += std::isfinite(one.loss) ? 0 : 1;
  }
  EXPECT_GT(failed, 0U);
  EXPECT_LT(failed, 5U);
}

TEST_F(TuningTest, WhereAllDivergeNothingIsFound) {
  EXPECT_EQ(TuneMomentum(JobWith({{"train.learning_rate", "1e30"}}), Of(150)).run, "");
  EXPECT_TRUE(told_.empty());
}

TEST_F(TuningTest, ItEndsWithItsTime) {
  Trials trials = Of(1000000);
  trials.seconds = 2;
  const Tuned found = FindRate(JobWith({{"train.epochs", "1000000"}}), trials);
  EXPECT_LT(found.trained, 4);  // the steps would take a minute
}

TEST(ExplicitMomentum, FallsWithStaleness) {
  EXPECT_DOUBLE_EQ(ExplicitMomentum(0.9, 0), 0.9);
  EXPECT_DOUBLE_EQ(ExplicitMomentum(0.9, 1), 0.8);
  EXPECT_DOUBLE_EQ(ExplicitMomentum(0.9, 3), 0.6);
  EXPECT_EQ(ExplicitMomentum(0.9, 20), 0);
  EXPECT_EQ(ExplicitMomentum(0, 5), 0);
}

}  // namespace yoke::tuning_test
