// Layer normalization: the formula by hand; what is saved, and what is not asked for.
#include "kernels/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace yoke::layer_norm_test {

TEST(LayerNorm, EachRowHasMeanZeroAndVarianceOne) {
  const LayerNormShape shape{.rows = 2, .columns = 4, .epsilon = 0};
  const std::vector<float> x = {1, 2, 3, 4, -10, 10, -10, 10};
  std::vector<float> y(8), saved(4);
  MakeLayerNorm(shape)->Forward({.input = x.data(), .output = y.data(), .saved = saved.data()});
  EXPECT_NEAR(y[0], -1.5 / std::sqrt(1.25), 1e-6);
  EXPECT_NEAR(y[3], 1.5 / std::sqrt(1.25), 1e-6);
  EXPECT_NEAR(y[4], -1, 1e-6);
  EXPECT_EQ(saved[2], 0);
  EXPECT_FLOAT_EQ(saved[3], 0.1F);
}

TEST(LayerNorm, WeightAndBiasAreOfColumns) {
  const LayerNormShape shape{.rows = 1, .columns = 2, .epsilon = 0};
  const std::vector<float> x = {5, 7}, weight = {2, 3}, bias = {10, 20};
  std::vector<float> y(2);
  MakeLayerNorm(shape)->Forward(
      {.input = x.data(), .output = y.data(), .weight = weight.data(), .bias = bias.data()});
  EXPECT_FLOAT_EQ(y[0], 8);
  EXPECT_FLOAT_EQ(y[1], 23);
}

/// A row's gradient is orthogonal to what normalization takes away: a shift, and a factor.
TEST(LayerNorm, TheGradientTakesAwayShiftAndScale) {
  const LayerNormShape shape{.rows = 1, .columns = 5, .epsilon = 0};
  const std::vector<float> x = {1, -2, 4, 0.5F, 3}, dy = {0.1F, 2, -1, 0.3F, 0.7F};
  std::vector<float> y(5), saved(2), dx(5);
  MakeLayerNorm(shape)->Forward({.input = x.data(), .output = y.data(), .saved = saved.data()});
  MakeLayerNorm(shape)->Backward({.input = x.data(),
                                  .saved = saved.data(),
                                  .output_gradient = dy.data(),
                                  .input_gradient = dx.data()});
  double sum = 0, along = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += dx[i], along += double(dx[i]) * double(y[i]);
  EXPECT_NEAR(sum, 0, 1e-6);
  EXPECT_NEAR(along, 0, 1e-6);
}

}  // namespace yoke::layer_norm_test
