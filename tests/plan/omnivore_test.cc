// Omnivore's optimizer: which settings it tries, and what it makes of them.
#include "plan/omnivore.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace yoke::omnivore_test {

constexpr double kDiverged = std::numeric_limits<double>::infinity();

/// Trials whose loss is a function of the setting; an update takes `seconds` by groups.
struct Lab {
  std::function<double(const GroupSetting&)> loss;
  std::function<double(int groups)> seconds = [](int groups) { return 1.0 / groups; };
  std::vector<GroupSetting> tried = {};

  TryGroups Trials() {
    return [this](const GroupSetting& one) -> GroupTrial {
      tried.push_back(one);
      return {.loss = loss(one), .seconds_per_update = seconds(one.groups)};
    };
  }
};

/// The law of the paper: the best total momentum is 0.9, of which 1 - 1/g is asynchrony's; the best
/// rate is `rate`.
double LossByTheLaw(const GroupSetting& one, double rate) {
  const double total = 1 - (1 - *one.setting.momentum) / one.groups;
  return 1 + std::abs(total - 0.9) + std::abs(std::log10(one.setting.rate / rate));
}

TEST(ColdStart, BeginsWithOneGroupMomentumAndFourRates) {
  Lab lab = {.loss = [](const GroupSetting& one) { return LossByTheLaw(one, 0.01); }};
  const ColdStart start = FindColdStart({1}, lab.Trials());
  ASSERT_EQ(lab.tried.size(), 4);
  for (const GroupSetting& one : lab.tried) EXPECT_EQ(*one.setting.momentum, 0.9);
  ASSERT_TRUE(start.found);
  EXPECT_EQ(start.found->best.setting.rate, 0.01);
}

TEST(ColdStart, RaisesGroupsWhileAnUpdateBecomesTenPercentFaster) {
  const auto seconds = [](int groups) { return groups < 8 ? 1.0 / groups : 0.24; };
  Lab lab = {.loss = [](const GroupSetting& one) { return LossByTheLaw(one, 0.1); },
             .seconds = seconds};
  const ColdStart start = FindColdStart({1, 2, 4, 8, 16}, lab.Trials());
  EXPECT_EQ(start.most_groups, 4);
  EXPECT_EQ(lab.tried.back().groups, 8);  // tried, and not enough faster
}

TEST(ColdStart, ChoosesTheLowestLossNotTheLastOneTried) {
  Lab lab = {.loss = [](const GroupSetting& one) {
    return LossByTheLaw(one, 0.1) + (one.groups > 2 ? 1 : 0);
  }};
  const ColdStart start = FindColdStart({1, 2, 4}, lab.Trials());
  EXPECT_EQ(start.found->best.groups, 2);
  EXPECT_EQ(start.most_groups, 4);
}

TEST(ColdStart, SkipsWhatIsAtLeastAsLargeAsASettingThatDiverged) {
  Lab lab = {.loss = [](const GroupSetting& one) {
    return one.setting.rate > 0.05 ? kDiverged : LossByTheLaw(one, 0.01);
  }};
  const ColdStart start = FindColdStart({1, 2}, lab.Trials());
  EXPECT_EQ(start.found->best.setting.rate, 0.01);
  Lab none = {.loss = [](const GroupSetting&) { return kDiverged; }};
  EXPECT_FALSE(FindColdStart({1, 2}, none.Trials()).found);
  EXPECT_EQ(none.tried.size(), 4);  // lower rates might still train
}

TEST(SteadyState, HalvesTheGroupsWhileTheBestMomentumIsZero) {
  Lab lab = {.loss = [](const GroupSetting& one) { return LossByTheLaw(one, 0.1); }};
  const auto found = FindSteadyState(32, {.rate = 0.1, .momentum = 0.0}, lab.Trials());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best.groups, 8);  // 1 - 1/8 leaves 0.2 of explicit momentum
  EXPECT_EQ(*found->best.setting.momentum, 0.3);
}

TEST(SteadyState, TriesFiveSettingsASearchAtMost) {
  for (const double momentum : {0.0, 0.3, 0.6, 0.9}) {
    Lab lab = {.loss = [](const GroupSetting& one) { return 1 + *one.setting.momentum; }};
    FindSteadyState(1, {.rate = 0.1, .momentum = momentum}, lab.Trials());
    EXPECT_LE(lab.tried.size(), 5);
  }
}

TEST(SteadyState, EndsWithOneGroup) {
  Lab lab = {.loss = [](const GroupSetting& one) { return 1 + *one.setting.momentum; }};
  const auto found = FindSteadyState(4, {.rate = 0.1, .momentum = 0.6}, lab.Trials());
  EXPECT_EQ(found->best.groups, 1);
  EXPECT_EQ(*found->best.setting.momentum, 0);
}

}  // namespace yoke::omnivore_test
