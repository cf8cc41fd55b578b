// Omnivore's optimizer: which settings it tries, and what it makes of them.
#include "plan/omnivore.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace yoke::omnivore_test {

constexpr double kDiverged = std::numeric_limits<double>::infinity();

/// Trials whose loss is a function of the setting; an update takes `seconds` by groups.
struct Lab {
  std::function<double(int groups, const Setting&)> loss;
  std::function<double(int groups)> seconds = [](int groups) { return 1.0 / groups; };
  std::vector<GroupTrial> tried = {};

  TryGroups Trials() {
    return [this](int groups, const Setting& setting) {
      return tried.emplace_back(
          GroupTrial{.groups = groups,
                     .tried = {.setting = setting, .loss = loss(groups, setting)},
                     .seconds_per_update = seconds(groups)});
    };
  }
};

/// The law of the paper: the best total momentum is 0.9, of which 1 - 1/g is asynchrony's; the best
/// rate is `rate`.
double LossByTheLaw(int groups, const Setting& setting, double rate) {
  const double total = 1 - (1 - *setting.momentum) / groups;
  return 1 + std::abs(total - 0.9) + std::abs(std::log10(setting.rate / rate));
}

const GroupTrial& BestOf(const GroupSearch& search) { return search.trials.at(search.best); }

TEST(ColdStart, BeginsWithOneGroupItsMomentumAndFourRates) {
  Lab lab = {.loss = [](int g, const Setting& one) { return LossByTheLaw(g, one, 0.01); }};
  const GroupSearch search = FindColdStart({1}, lab.Trials());
  ASSERT_EQ(lab.tried.size(), 4U);
  for (const GroupTrial& one : lab.tried) EXPECT_EQ(*one.tried.setting.momentum, 0.9);
  EXPECT_EQ(BestOf(search).tried.setting.rate, 0.01);
}

TEST(ColdStart, RaisesGroupsWhileAnUpdateBecomesTenPercentFaster) {
  Lab lab = {.loss = [](int g, const Setting& one) { return LossByTheLaw(g, one, 0.1); },
             .seconds = [](int groups) { return groups < 8 ? 1.0 / groups : 0.24; }};
  const GroupSearch search = FindColdStart({1, 2, 4, 8, 16}, lab.Trials());
  EXPECT_EQ(search.most_groups, 4);
  EXPECT_EQ(lab.tried.back().groups, 8);  // tried, and not enough faster
}

TEST(ColdStart, ChoosesTheLowestLossNotTheLastOneTried) {
  Lab lab = {.loss = [](int g, const Setting& one) {
    return LossByTheLaw(g, one, 0.1) + (g == 2 ? 0 : 1);
  }};
  const GroupSearch search = FindColdStart({1, 2, 4}, lab.Trials());
  EXPECT_EQ(BestOf(search).groups, 2);
  EXPECT_EQ(search.most_groups, 4);
}

TEST(ColdStart, SkipsWhatIsAtLeastAsLargeAsASettingThatDiverged) {
  Lab lab = {.loss = [](int g, const Setting& one) {
    return g > 1 && one.rate < 0.05 && *one.momentum > 0.5 ? kDiverged : LossByTheLaw(g, one, 0.01);
  }};
  FindColdStart({1, 2}, lab.Trials());
  int above = 0;  // momenta of a rate after one that diverged
  for (const GroupTrial& one : lab.tried)
    above += one.groups > 1 && *one.tried.setting.momentum == 0.9 && one.tried.setting.rate == 0.01;
  EXPECT_EQ(above, 0);
  Lab none = {.loss = [](int, const Setting&) { return kDiverged; }};
  EXPECT_EQ(FindColdStart({1, 2}, none.Trials()).best, -1);
  EXPECT_EQ(none.tried.size(), 4U);  // lower rates might still train
}

TEST(SteadyState, HalvesTheGroupsWhileTheBestMomentumIsZero) {
  Lab lab = {.loss = [](int g, const Setting& one) { return LossByTheLaw(g, one, 0.1); }};
  const GroupSearch search = FindSteadyState(32, {.rate = 0.1, .momentum = 0.0}, lab.Trials());
  EXPECT_EQ(BestOf(search).groups, 8);  // 1 - 1/8 leaves 0.2 of explicit momentum
  EXPECT_EQ(*BestOf(search).tried.setting.momentum, 0.3);
}

TEST(SteadyState, TriesFiveSettingsASearchAtMost) {
  for (const double momentum : {0.0, 0.3, 0.6, 0.9}) {
    Lab lab = {.loss = [](int, const Setting& one) { return 1 + *one.momentum; }};
    FindSteadyState(1, {.rate = 0.1, .momentum = momentum}, lab.Trials());
    EXPECT_LE(lab.tried.size(), 5U);
  }
}

TEST(SteadyState, KeepsTheBestWhereFewerGroupsDiverge) {
  Lab lab = {
      .loss = [](int g, const Setting& one) { return g < 8 ? kDiverged : 1 + *one.momentum; }};
  const GroupSearch search = FindSteadyState(8, {.rate = 0.1, .momentum = 0.6}, lab.Trials());
  ASSERT_GE(search.best, 0);
  EXPECT_EQ(BestOf(search).groups, 8);
  EXPECT_EQ(lab.tried.back().groups, 4);
}

TEST(SteadyState, EndsWithOneGroup) {
  Lab lab = {.loss = [](int, const Setting& one) { return 1 + *one.momentum; }};
  const GroupSearch search = FindSteadyState(4, {.rate = 0.1, .momentum = 0.6}, lab.Trials());
  EXPECT_EQ(BestOf(search).groups, 1);
  EXPECT_EQ(*BestOf(search).tried.setting.momentum, 0);
}

}  // namespace yoke::omnivore_test
