// async_msgd: one velocity at the server for all workers.
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
