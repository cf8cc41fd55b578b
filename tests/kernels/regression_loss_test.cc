// RegressionLoss: losses and slopes by hand, weighed by row.
#include "kernels/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace yoke::regression_loss_test {

using ::testing::ElementsAre;

struct Result {
  std::vector<float> losses, gradient;
};

// Of two examples with two targets each, whose errors are 1, -3 and 0, 0.5.
Result Of(RegressionLoss function, double parameter = 0) {
  const std::vector<float> scores = {2, 0, 5, 1.5}, targets = {1, 3, 5, 1};
  Result result{std::vector<float>(2), std::vector<float>(4)};
  const auto kernel =
      MakeRegressionLoss({.function = function, .parameter = parameter, .batch = 2, .outputs = 2});
  const RegressionLossCall call{.scores = scores.data(),
                                .targets = targets.data(),
                                .losses = result.losses.data(),
                                .gradient = result.gradient.data()};
  kernel->Forward(call);
  kernel->Backward(call);
  return result;
}

TEST(RegressionLossTest, IsAMeanOverTargets) {
  EXPECT_THAT(Of(RegressionLoss::kSquared).losses, ElementsAre(5, 0.125));
  EXPECT_THAT(Of(RegressionLoss::kAbsolute).losses, ElementsAre(2, 0.25));
  EXPECT_THAT(Of(RegressionLoss::kHuber, 2).losses, ElementsAre(2.25, 0.0625));
  EXPECT_THAT(Of(RegressionLoss::kQuantile, 0.75).losses, ElementsAre(1.25, 0.0625));
}

TEST(RegressionLossTest, HasTheGradientOfTheMean) {
  EXPECT_THAT(Of(RegressionLoss::kSquared).gradient, ElementsAre(0.5, -1.5, 0, 0.25));
  EXPECT_THAT(Of(RegressionLoss::kAbsolute).gradient, ElementsAre(0.25, -0.25, 0, 0.25));
  EXPECT_THAT(Of(RegressionLoss::kHuber, 2).gradient, ElementsAre(0.25, -0.5, 0, 0.125));
  EXPECT_THAT(Of(RegressionLoss::kQuantile, 0.75).gradient,
              ElementsAre(0.0625, -0.1875, 0, 0.0625));
}

TEST(WeighRowsTest, MultipliesEachRow) {
  std::vector<float> values = {1, 2, 3, 4};
  const std::vector<float> weights = {2, 0.5};
  MakeWeighRows()->Forward(
      {.values = values.data(), .weights = weights.data(), .rows = 2, .width = 2});
  EXPECT_THAT(values, ElementsAre(2, 4, 1.5, 2));
}

}  // namespace yoke::regression_loss_test
