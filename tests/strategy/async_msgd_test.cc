// async_msgd: one velocity at the server for all workers.
#include "strategy/server.h"
#include "strategy/support/served_tests.h"

namespace yoke {
namespace {

test::LabSettings Settings() {
  return {.strategy = "async_msgd", .rule = "momentum", .rate = 0.03};
}

TEST(AsyncMsgd, HasOneVelocityAtTheServer) {
  test::ExpectAsTold(
      {.settings = Settings(),
       .story = {.seconds = {1, 1.3717, 0.4931}, .steps = 12, .rate = 0.01, .momentum = 0.9}});
}

TEST(AsyncMsgd, IsTheSameFromARankThatOnlyServes) {
  test::LabSettings settings = Settings();
  settings.options = {{"servers", 1}};
  test::ExpectAsTold(
      {.settings = settings,
       .story = {.seconds = {1, 1.3717, 0.4931}, .steps = 12, .rate = 0.01, .momentum = 0.9}});
}

// A late gradient is divided before it enters the velocity: what others put there keeps its length.
TEST(AsyncMsgd, ScalesGradientsByStalenessNotTheVelocity) {
  test::LabSettings settings = Settings();
  settings.options = {{"scale_by_staleness", true}};
  test::ExpectAsTold({.settings = settings,
                      .story = {.seconds = {1, 1.3717, 0.4931},
                                .steps = 12,
                                .rate = 0.03,
                                .momentum = 0.9,
                                .scale_by_staleness = true}});
}

// A rate at which late gradients grow without end on a quadratic.
TEST(AsyncMsgd, LimitsTheLengthOfGradients) {
  test::LabSettings settings = Settings();
  settings.rate = 3;
  settings.options = {{"limit_gradients", true}};
  test::ServerStory story = {
      .seconds = {1, 1.3717, 0.4931}, .steps = 12, .rate = 1, .momentum = 0.9, .limits = true};
  const auto largest = [&](const test::ServerStory& told) {
    const std::vector<float> values = test::Tell(told, std::vector<float>(test::kCount)).values;
    return std::abs(*std::ranges::max_element(values, {}, [](float x) { return std::abs(x); }));
  };
  test::ExpectAsTold({.settings = settings, .story = story}, 1e-3);
  const double limited = largest(story);
  story.limits = false;
  EXPECT_LT(100 * limited, largest(story));
}

TEST(AsyncMsgd, ReachesAsFarAsAGeometricSum) {
  for (const char* name : {"sgd", "momentum", "nesterov"}) {
    const RuleEntry& entry = FindEntry(rules(), "rule", name);
    const auto rule = entry.make(Options("train", Table(), entry.options));
    EXPECT_NEAR(ReachOf(*rule), std::string(name) == "sgd" ? 1 : 10, 0.01) << name;
  }
}

TEST(AsyncMsgd, GoesOnFromACheckpoint) {
  test::ExpectGoesOnFromACheckpoint(Settings(), {1, 1.3717, 0.4931});
}

TEST(AsyncMsgd, IsTheRuleAlone) { test::ExpectNoneAlone(Settings()); }

TEST(AsyncMsgd, ForcesMomentumWhereItsTwinForcesNone) {
  EXPECT_TRUE(FindEntry(strategies(), "strategy", "async_msgd").forces_momentum);
  EXPECT_FALSE(FindEntry(strategies(), "strategy", "async_sgd").forces_momentum);
}

TEST(AsyncMsgd, ReachesTheOptimumOverThreads) {
  test::LabSettings settings = Settings();
  settings.rule_options = {{"momentum", 0.3}};
  test::ExpectOptimumOverThreads(settings, 3);
}

}  // namespace
}  // namespace yoke
