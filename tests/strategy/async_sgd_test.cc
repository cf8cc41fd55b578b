// async_sgd: the server's order restated, its options, its manners.
#include "strategy/support/served_tests.h"

namespace yoke::async_sgd_test {

using test::ExpectAsTold;

const std::vector<double> kSeconds = {1, 1.3717, 0.4931};

test::LabSettings Settings(Table options = {}) {
  return {.strategy = "async_sgd", .options = std::move(options), .rate = 0.3};
}

TEST(AsyncSgd, ScalesTheRate) {
  ExpectAsTold({.settings = Settings({{"rate_scale", 0.5}}),
                .story = {.seconds = kSeconds, .steps = 7, .rate = 0.15}});
}

TEST(AsyncSgd, ScalesNoRateBelowWhatLateGradientsBear) {
  test::LabSettings settings = Settings();
  settings.rate = 0.2;  // three workers bear 0.3 / 3
  ExpectAsTold({.settings = settings, .story = {.seconds = kSeconds, .steps = 12, .rate = 0.1}});
  settings.rate = 0.05;
  ExpectAsTold({.settings = settings, .story = {.seconds = kSeconds, .steps = 12, .rate = 0.05}});
  settings.options = {{"predict_weights", false}};
  ExpectAsTold(
      {.settings = settings, .story = {.seconds = kSeconds, .steps = 12, .rate = 0.05 / 3}});
}

TEST(AsyncSgd, ScalesGradientsByStaleness) {
  // The whole rate: staleness divides in place of the number of workers.
  ExpectAsTold(
      {.settings = Settings({{"scale_by_staleness", true}}),
       .story = {.seconds = kSeconds, .steps = 12, .rate = 0.3, .scale_by_staleness = true}});
  ExpectAsTold(
      {.settings = Settings({{"scale_by_staleness", true}, {"rate_scale", 0.5}}),
       .story = {.seconds = kSeconds, .steps = 12, .rate = 0.15, .scale_by_staleness = true}});
}

TEST(AsyncSgd, StartsSlowly) {
  ExpectAsTold({.settings = Settings({{"slow_start", 20}}),
                .story = {.seconds = kSeconds, .steps = 12, .rate = 0.1, .slow_start = 20}});
  test::LabSettings by_default = Settings();
  by_default.steps_per_epoch = 6;  // of each of three
  ExpectAsTold({.settings = by_default,
                .story = {.seconds = kSeconds, .steps = 12, .rate = 0.1, .slow_start = 9}});
  by_default.steps_per_epoch = 10000;
  ExpectAsTold({.settings = by_default,
                .story = {.seconds = kSeconds, .steps = 12, .rate = 0.1, .slow_start = 750}});
  test::ExpectGoesOnFromACheckpoint(Settings({{"slow_start", 20}}), kSeconds);
}

TEST(AsyncSgd, SendsLaterWhatCompressionLeavesOut) {
  ExpectAsTold(
      {.settings = Settings({{"compression", "int8"}}),
       .story = {
           .seconds = kSeconds, .steps = 12, .rate = 0.1, .arrives = test::ArrivesInSteps<127>}});
  ExpectAsTold(
      {.settings = Settings({{"compression", "int4"}}),
       .story = {
           .seconds = kSeconds, .steps = 12, .rate = 0.1, .arrives = test::ArrivesInSteps<7>}});
  ExpectAsTold(
      {.settings = Settings({{"compression", "topk"}, {"top_share", 0.2}}),
       .story = {
           .seconds = kSeconds, .steps = 12, .rate = 0.1, .arrives = test::ArrivesWhereLargest}});
}

TEST(AsyncSgd, GoesOnFromACheckpoint) {
  test::ExpectGoesOnFromACheckpoint(Settings(), kSeconds);
  test::ExpectGoesOnFromACheckpoint(
      {.strategy = "async_sgd", .options = {{"staleness_bound", 1}}, .rule = "adam"}, kSeconds);
}

TEST(AsyncSgd, KeepsWhatCompressionLeavesOut) {
  for (const char* kind : {"int8", "int4", "topk"})
    test::ExpectGoesOnFromACheckpoint(Settings({{"compression", kind}}), kSeconds);
}

TEST(AsyncSgd, HoldsBackWhoIsTooFarAhead) {
  for (const int64_t bound : {1, 2, 4}) {
    const ExchangeCounts counts = ExpectAsTold(
        {.settings = Settings({{"staleness_bound", bound}}),
         .story = {
             .seconds = {1, 10.37, 0.4931}, .steps = 12, .rate = 0.1, .staleness_bound = bound}});
    // While a worker computes, each other one pushes at most from `bound` behind to 1 too far
    // ahead.
    EXPECT_LE(static_cast<int64_t>(counts.staleness.size()) - 1, 2 * (2 * bound + 1));
  }
  const ExchangeCounts free = ExpectAsTold(
      {.settings = Settings(), .story = {.seconds = {1, 10.37, 0.4931}, .steps = 12, .rate = 0.1}});
  EXPECT_GT(free.staleness.size(), 20U);
}

TEST(AsyncSgd, HoldsTheBoundInEveryRound) {
  for (const int64_t bound : {1, 2})
    test::ExpectBoundInEveryRound(Settings({{"staleness_bound", bound}}), {1, 0.3717, 10.4931},
                                  bound);
}

TEST(AsyncSgd, ReachesTheOptimumOverThreads) {
  test::ExpectOptimumOverThreads(Settings(), 4);
  test::ExpectOptimumOverThreads(Settings({{"staleness_bound", 1}}), 4);
}

TEST(AsyncSgd, IsTheRuleAlone) {
  test::ExpectNoneAlone(Settings());
  test::ExpectNoneAlone({.strategy = "async_sgd", .rule = "adam"});
  test::ExpectNoneAlone({.strategy = "async_sgd", .steps_per_epoch = 10000});
}

TEST(AsyncSgd, SendsWhatItSays) {
  test::ExpectEstimatedTraffic(Settings(), 4);
  test::ExpectEstimatedTrafficCompressed(Settings(), 4);
}

TEST(AsyncSgd, EndsWithARankThatFails) {
  test::ExpectFailureEndsAll(Settings(), 3);
  test::ExpectFailureEndsAll(Settings({{"staleness_bound", 2}}), 3);
}

TEST(AsyncSgd, WaitsForNobodyWhoIsDone) {
  test::ExpectUnevenStepsLand(Settings(), 4);
  test::ExpectUnevenStepsLand(Settings({{"staleness_bound", 1}}), 4);
}

TEST(AsyncSgd, RestsWhileRankZeroReads) { test::ExpectRest(Settings(), 3); }

TEST(AsyncSgd, IsTheSameFromARankThatOnlyServes) {
  const ExchangeCounts counts = ExpectAsTold(
      {.settings = Settings({{"servers", 1}}), .story = {.seconds = kSeconds, .steps = 12}});
  EXPECT_EQ(counts.updates, 36);
  EXPECT_EQ(counts.examples, 36);
  ExpectAsTold({.settings = Settings({{"servers", 1}, {"staleness_bound", 2}}),
                .story = {.seconds = kSeconds, .steps = 12, .staleness_bound = 2}});
  EXPECT_EQ(test::AfterTwoMixedPushes(Settings({{"servers", 1}}), 0.02),
            test::AfterTwoMixedPushes(Settings(), 0.02));
  test::ExpectRest(Settings({{"servers", 1}}), 4);
}

TEST(AsyncSgd, LeavesSomebodyToTrain) {
  const StrategyEntry& entry = FindEntry(strategies(), "strategy", "async_sgd");
  const Options options("cluster", Table{{"servers", 1}}, entry.options);
  EXPECT_EQ(RolesIn(entry, options, 4).workers, 3);
  try {
    RolesIn(entry, options, 1);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "cluster.servers = 1: rank 0 would serve and nobody train; expected 2 replicas or "
                 "more, got 1");
  }
}

TEST(AsyncSgd, CarriesRowsAndStatistics) {
  const std::vector<float> model = test::AfterTwoMixedPushes(Settings({{"rate_scale", 0.5}}), 0.02);
  const ParamLayout layout = test::MixedParts::Layout();
  EXPECT_FLOAT_EQ(model[0], 1 - 0.01F * 3);
  const float* table = model.data() + layout.slices()[1].offset;
  EXPECT_FLOAT_EQ(table[0], 1 - 0.01F * 10);
  EXPECT_FLOAT_EQ(table[2], 1 - 0.01F * 20);
  EXPECT_FLOAT_EQ(table[4], 1);
  EXPECT_FLOAT_EQ(table[6], 1 - 0.01F * 30);
  EXPECT_FLOAT_EQ(model[layout.slices()[2].offset], ((1 + 5) / 2.0F + 9) / 2);
}

}  // namespace yoke::async_sgd_test
