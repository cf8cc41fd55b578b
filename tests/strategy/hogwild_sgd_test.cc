// hogwild_sgd: in an order it is async_sgd; without one it still arrives.
#include "strategy/support/served_tests.h"

namespace yoke::hogwild_sgd_test {

test::LabSettings Settings(Table options = {}) {
  return {.strategy = "hogwild_sgd", .options = std::move(options), .rate = 0.3};
}

TEST(HogwildSgd, IsAsyncSgdWhereUpdatesComeOneAtATime) {
  const std::vector<double> seconds = {1, 1.3717, 0.4931};
  test::ExpectAsTold(
      {.settings = Settings({{"scale_by_staleness", true}}),
       .story = {.seconds = seconds, .steps = 12, .rate = 0.3, .scale_by_staleness = true}});
  test::ExpectAsTold({.settings = Settings({{"slow_start", 20}}),
                      .story = {.seconds = seconds, .steps = 12, .rate = 0.1, .slow_start = 20}});
}

TEST(HogwildSgd, IsTheSameFromARankThatOnlyServes) {
  const std::vector<double> seconds = {1, 1.3717, 0.4931};
  test::ExpectAsTold(
      {.settings = Settings({{"servers", 1}}), .story = {.seconds = seconds, .steps = 12}});
  EXPECT_EQ(test::AfterTwoMixedPushes(Settings({{"servers", 1}}), 0.02),
            test::AfterTwoMixedPushes(Settings(), 0.02));
  test::ExpectRest(Settings({{"servers", 1}}), 4);
}

TEST(HogwildSgd, SendsLaterWhatCompressionLeavesOut) {
  test::ExpectAsTold({.settings = Settings({{"compression", "int8"}}),
                      .story = {.seconds = {1, 1.3717, 0.4931},
                                .steps = 12,
                                .rate = 0.1,
                                .arrives = test::ArrivesInSteps<127>}});
}

TEST(HogwildSgd, ReachesTheOptimumOverThreads) { test::ExpectOptimumOverThreads(Settings(), 4); }

TEST(HogwildSgd, GoesOnFromACheckpoint) {
  test::ExpectGoesOnFromACheckpoint(Settings(), {1, 1.3717, 0.4931});
}

TEST(HogwildSgd, IsTheRuleAlone) {
  test::ExpectNoneAlone(Settings());
  test::ExpectNoneAlone({.strategy = "hogwild_sgd", .rule = "adam"});
}

TEST(HogwildSgd, SendsWhatItSays) {
  test::ExpectEstimatedTraffic(Settings(), 4);
  test::ExpectEstimatedTrafficCompressed(Settings(), 4);
}

TEST(HogwildSgd, EndsWithARankThatFails) { test::ExpectFailureEndsAll(Settings(), 3); }

TEST(HogwildSgd, CountsEveryUpdate) { test::ExpectUnevenStepsLand(Settings(), 4); }

TEST(HogwildSgd, RestsWhileRankZeroReads) { test::ExpectRest(Settings(), 3); }

TEST(HogwildSgd, CarriesRowsAndStatistics) {
  test::LabSettings async = Settings();
  async.strategy = "async_sgd";
  EXPECT_EQ(test::AfterTwoMixedPushes(Settings(), 0.02), test::AfterTwoMixedPushes(async, 0.02));
}

}  // namespace yoke::hogwild_sgd_test
