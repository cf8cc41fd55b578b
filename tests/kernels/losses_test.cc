// Losses: losses and slopes by hand, weighed by row; a batch's mean, in the order of calls, and
// what stops.
#include "kernels/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::losses_test {

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

struct Told {
  double loss = 0, stop = 0;
};

/// Of a model with as many losses.
Told Of(Device& device, const std::vector<std::vector<float>>& losses) {
  const Buffer loss(device.staging(), sizeof(double)), stop(device, sizeof(double));
  const auto kernel = MakeStepLoss({.device = &device, .stream = &device.stream()});
  for (const std::vector<float>& one : losses) {
    const Buffer there = CopyOn(device, one);
    kernel->Forward({.losses = there.As<float>(),
                     .count = static_cast<int64_t>(one.size()),
                     .first = &one == &losses.front(),
                     .last = &one == &losses.back(),
                     .loss = loss.As<double>(),
                     .stop = stop.As<double>()});
    device.stream().Wait();
  }
  return {*loss.As<double>(), ValuesOf(AllOf<double>(stop))[0]};
}

TEST(StepLoss, IsTheMeanAndStopsWhatIsNotPossible) {
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    SCOPED_TRACE(device->name());
    EXPECT_EQ(Of(*device, {{1, 2, 6}}).loss, 3);
    EXPECT_EQ(Of(*device, {{1, 2}, {4, 7}}).loss, 7);
    EXPECT_EQ(Of(*device, {{1, -1e-4F}}).stop, 0);
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    for (const float bad : {-9.0F, kInfinite, std::numeric_limits<float>::quiet_NaN()})
      EXPECT_EQ(Of(*device, {{1, 1}, {bad, 1}}).stop, 1) << bad;
  }
}

}  // namespace yoke::losses_test
