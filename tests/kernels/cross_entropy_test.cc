// Losses stay finite for large scores, and show a NaN.
#include "kernels/cross_entropy/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/check.h"

namespace yoke::cross_entropy_test {

class CrossEntropies : public ::testing::TestWithParam<bool> {};

Batch OneClass(int32_t id) {
  Batch batch;
  batch.size = 1;
  batch.classes = {id};
  return batch;
}

struct Outcome {
  float loss;
  std::vector<float> gradient;
};

Outcome Compute(CrossEntropy function, const std::vector<float>& scores, int32_t id,
                bool reference) {
  const auto kernel =
      MakeCrossEntropy({.function = function, .batch = 1, .outputs = int64_t(scores.size())},
                       {.reference = reference});
  Outcome run{.loss = NAN, .gradient = std::vector<float>(scores.size())};
  const CrossEntropyCall call{.scores = scores.data(),
                              .labels = {.classes = &id},
                              .losses = &run.loss,
                              .gradient = run.gradient.data()};
  kernel->Forward(call);
  kernel->Backward(call);
  return run;
}

TEST_P(CrossEntropies, KnownValues) {
  const Outcome softmax = Compute(CrossEntropy::kSoftmax, {0, 0, 0, 0}, 2, GetParam());
  EXPECT_NEAR(softmax.loss, std::log(4.0), 1e-6);
  EXPECT_NEAR(softmax.gradient[2], -0.75, 1e-6);
  const Outcome sigmoid = Compute(CrossEntropy::kSigmoid, {0, 1}, 0, GetParam());
  EXPECT_NEAR(sigmoid.loss, std::log(2.0) + std::log1p(std::exp(1.0)), 1e-6);
  EXPECT_NEAR(sigmoid.gradient[1], 1 / (1 + std::exp(-1.0)), 1e-6);
}

TEST_P(CrossEntropies, LargeScoresStayFinite) {
  for (const CrossEntropy function : {CrossEntropy::kSoftmax, CrossEntropy::kSigmoid}) {
    const Outcome right = Compute(function, {1e4F, -1e4F}, 0, GetParam());
    EXPECT_NEAR(right.loss, 0, 1e-6);
    const Outcome wrong = Compute(function, {1e4F, -1e4F}, 1, GetParam());
    EXPECT_NEAR(wrong.loss, 2e4, 1);
    for (float g : wrong.gradient) EXPECT_TRUE(std::isfinite(g));
    EXPECT_NEAR(wrong.gradient[0], 1, 1e-6);
    EXPECT_NEAR(wrong.gradient[1], -1, 1e-6);
  }
}

TEST_P(CrossEntropies, NanScoreGivesNanLoss) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const CrossEntropy function : {CrossEntropy::kSoftmax, CrossEntropy::kSigmoid})
    for (size_t position : {0U, 7U, 20U}) {
      std::vector<float> scores(21, 0.5F);
      scores[position] = nan;
      EXPECT_TRUE(std::isnan(Compute(function, scores, 3, GetParam()).loss)) << position;
    }
}

TEST_P(CrossEntropies, ManyTinyTermsAreNotLost) {
  const std::vector<float> scores(100'001, -15.0F);
  const Outcome run = Compute(CrossEntropy::kSigmoid, scores, 0, GetParam());
  EXPECT_NEAR(run.loss, 100'001 * std::log1p(std::exp(-15.0)) + 15, 1e-4);
}

TEST_P(CrossEntropies, ALargeScoreOfTheTargetLeavesNoRounding) {
  std::vector<float> scores(21, 3);
  scores[7] = 1e9F;
  const double others = 20 * (3 + std::log1p(std::exp(-3.0)));
  EXPECT_NEAR(Compute(CrossEntropy::kSigmoid, scores, 7, GetParam()).loss, others, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(FastAndReference, CrossEntropies, ::testing::Bool());

TEST(CheckLabels, RefusesWhatIsNotAnOutput) {
  const CrossEntropyShape shape{.batch = 1, .outputs = 3};
  EXPECT_NO_THROW(CheckLabels(OneClass(2), shape));
  EXPECT_THROW(CheckLabels(OneClass(3), shape), Error);
  EXPECT_THROW(CheckLabels(OneClass(-1), shape), Error);
  Batch none;
  none.size = 1;
  EXPECT_THROW(CheckLabels(none, shape), Error);
}

}  // namespace yoke::cross_entropy_test
