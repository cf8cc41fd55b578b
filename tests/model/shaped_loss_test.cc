// Smoothed labels and weights of classes: the loss against its formula, the gradient against
// differences, and evaluation without either.
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "model/support/layer_harness.h"

namespace yoke::shaped_loss_test {
namespace {

using testing_support::LayerHarness;
using testing_support::LayerRun;

constexpr const char* kShaping = "label_smoothing = 0.2\nclass_weights = [1.0, 0.5, 2.0, 0.0, 3.0]";

LayerHarness Harness(const std::string& options) {
  return LayerHarness(
      {.type = "softmax_cross_entropy", .options = options, .input = {5}, .batch = 6});
}

TEST(ShapedLoss, HasTheGradientsOfDifferences) {
  constexpr float kStep = 1.0F / 64;
  LayerHarness harness = Harness(kShaping);
  const LayerRun run = harness.Run({.target = {.reference = true}});
  for (size_t i = 0; i < harness.input.size(); ++i) {
    const float value = harness.input[i];
    harness.input[i] = value + kStep;
    const double up = harness.Objective();
    harness.input[i] = value - kStep;
    const double down = harness.Objective();
    harness.input[i] = value;
    EXPECT_NEAR(run.input_gradient[i], (up - down) / (2 * kStep), 1e-3) << "entry " << i;
  }
}

/// With scores alike every class has the same loss, log 5, whatever the smoothing.
TEST(ShapedLoss, WeighsTheLossByClass) {
  LayerHarness harness = Harness(kShaping);
  std::fill(harness.input.begin(), harness.input.end(), 0.25F);
  for (const float loss : harness.Run({.target = {.reference = true}}).output) {
    const double weight = loss / std::log(5.0);
    double nearest = 9;
    for (const double known : {1.0, 0.5, 2.0, 0.0, 3.0})
      nearest = std::min(nearest, std::abs(weight - known));
    EXPECT_LT(nearest, 1e-6) << loss;
  }
}

TEST(ShapedLoss, SmoothsTowardsAllClasses) {
  const LayerHarness plain = Harness(""), smooth = Harness("label_smoothing = 0.2");
  const LayerRun before = plain.Run({.target = {.reference = true}});
  const LayerRun after = smooth.Run({.target = {.reference = true}});
  for (size_t n = 0; n < before.output.size(); ++n) {
    double log_sum = 0, mean = 0;
    for (size_t o = 0; o < 5; ++o) {
      log_sum += std::exp(plain.input[5 * n + o]);
      mean += plain.input[5 * n + o] / 5.0;
    }
    EXPECT_NEAR(after.output[n], 0.8 * before.output[n] + 0.2 * (std::log(log_sum) - mean), 1e-5);
  }
}

TEST(ShapedLoss, Mistakes) {
  EXPECT_THROW(Harness("class_weights = [1.0]"), UserError);
  EXPECT_THROW(Harness("label_smoothing = 1.0"), UserError);
  EXPECT_THROW(LayerHarness({.type = "sigmoid_cross_entropy",
                             .options = "label_smoothing = 0.1",
                             .input = {5},
                             .label_sets = true}),
               UserError);
}

}  // namespace
}  // namespace yoke::shaped_loss_test
