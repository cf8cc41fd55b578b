// RunLimits: what ends a run, and what is due, of keys and requests.
#include "train/run_limits.h"

#include <gtest/gtest.h>

#include <limits>

namespace yoke::run_limits_test {

RunLimits LimitsOf(const std::string& keys, const RunRequest& request = {}) {
  const std::string text =
      "[data]\nformat = \"synthetic-digits\"\n[model]\nname = \"mlp\"\n" + keys;
  return {MakeJob(ParseToml(text, "job.toml"), "job", "/"), request};
}

TEST(RunLimits, WithoutKeysARunGoesOn) {
  const RunLimits none = LimitsOf("[checkpoint]\nevery_epochs = 0\n");
  EXPECT_EQ(none.ReasonToStop(1'000'000, 1e9), "");
  EXPECT_EQ(none.StepsOfRound(7, 7), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(none.IsDueAfterSteps(1));
  EXPECT_FALSE(none.IsDueAfterEpochs(1));
  EXPECT_FALSE(none.IsDueAfterSeconds(1e9));
}

TEST(RunLimits, TimeCountsWithThatOfEarlierSessions) {
  const RunLimits limits = LimitsOf("[train]\ntime_limit = \"2m\"\n", {.time_used = 100});
  EXPECT_EQ(limits.ReasonToStop(0, 19.9), "");
  EXPECT_EQ(limits.ReasonToStop(0, 20), "time_limit");
}

TEST(RunLimits, StepsAreThoseOfThisSession) {
  const RunLimits limits = LimitsOf("[checkpoint]\nevery_steps = 10\n", {.steps = 25});
  EXPECT_EQ(limits.StepsOfRound(103, 0), 7);  // up to step 110
  EXPECT_EQ(limits.StepsOfRound(110, 7), 10);
  EXPECT_EQ(limits.StepsOfRound(120, 17), 8);
  EXPECT_EQ(limits.ReasonToStop(24, 0), "");
  EXPECT_EQ(limits.ReasonToStop(25, 0), "step_limit");
}

TEST(RunLimits, CheckpointsAreDueByStepsEpochsAndMinutes) {
  const RunLimits limits =
      LimitsOf("[checkpoint]\nevery_steps = 10\nevery_epochs = 3\nevery_minutes = 0.5\n");
  EXPECT_TRUE(limits.IsDueAfterSteps(30));
  EXPECT_FALSE(limits.IsDueAfterSteps(31));
  EXPECT_TRUE(limits.IsDueAfterEpochs(6));
  EXPECT_FALSE(limits.IsDueAfterEpochs(7));
  EXPECT_TRUE(limits.IsDueAfterSeconds(30));
  EXPECT_FALSE(limits.IsDueAfterSeconds(29.9));
}

TEST(RunLimits, EvaluationsAreDueByStepsOrEpochs) {
  const RunLimits steps =
      LimitsOf("[train]\nevaluate_every = { steps = 8 }\n[checkpoint]\nevery_steps = 10\n");
  EXPECT_TRUE(steps.EvaluatesBySteps());
  EXPECT_FALSE(steps.EvaluationIsDueAfterSteps(0));
  EXPECT_TRUE(steps.EvaluationIsDueAfterSteps(16));
  EXPECT_FALSE(steps.EvaluationIsDueAfterEpochs(1));
  EXPECT_EQ(steps.StepsOfRound(0, 0), 8);
  EXPECT_EQ(steps.StepsOfRound(8, 8), 2);
  const RunLimits epochs = LimitsOf("[train]\nevaluate_every = 3\n");
  EXPECT_FALSE(epochs.EvaluatesBySteps());
  EXPECT_TRUE(epochs.EvaluationIsDueAfterEpochs(6));
  EXPECT_FALSE(epochs.EvaluationIsDueAfterEpochs(7));
}

}  // namespace yoke::run_limits_test
