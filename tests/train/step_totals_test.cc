// StepTotals: the losses that a meeting compares.
#include "train/step_totals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/divergence.h"

namespace yoke::step_totals_test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(StepTotals, WeighLossesByTheirExamples) {
  StepTotals totals;
  totals.Add({.loss = 2, .examples = 8}, 1, /*starts=*/true);
  totals.Add({.loss = 5, .examples = 4}, 2, /*starts=*/true);
  EXPECT_EQ(totals.examples, 12);
  EXPECT_DOUBLE_EQ(totals.loss_sum, 36);
  EXPECT_DOUBLE_EQ(totals.first_loss, 3);
  EXPECT_DOUBLE_EQ(UntrainedLoss({StepTotals(), totals}), 3);
  EXPECT_DOUBLE_EQ(RecentLoss({totals}), std::sqrt(10.0));
}

TEST(StepTotals, OnlyTheRunsFirstExamplesAreUntrained) {
  StepTotals totals;
  totals.Add({.loss = 4, .examples = kFirstExamples}, 1, /*starts=*/true);
  totals.Add({.loss = 1, .examples = kFirstExamples}, 2, /*starts=*/true);
  EXPECT_EQ(totals.first_loss, 4);
  StepTotals later;
  later.Add({.loss = 1, .examples = 8}, 90, /*starts=*/false);
  EXPECT_EQ(UntrainedLoss({later}), 0);
}

TEST(StepTotals, KeepTheFirstBadStep) {
  StepTotals totals;
  totals.Add({.loss = 1, .examples = 8}, 6, /*starts=*/false);
  totals.Add({.loss = kNan, .examples = 8}, 7, /*starts=*/false);
  totals.Add({.loss = -1, .examples = 8}, 8, /*starts=*/false);
  EXPECT_EQ(totals.bad_step, 7);
  EXPECT_TRUE(std::isnan(totals.bad_loss));
  EXPECT_EQ(totals.examples, 8);
  EXPECT_FALSE(FirstBad({StepTotals()}));
  EXPECT_EQ(FirstBad({StepTotals(), totals})->bad_step, 7);
}

TEST(StepTotals, AStepWithoutExamplesTellsNothing) {
  StepTotals totals;
  totals.Add({}, 1, /*starts=*/true);
  EXPECT_EQ(totals.recent, 0);
  EXPECT_EQ(RecentLoss({totals}), 0);
}

}  // namespace yoke::step_totals_test
