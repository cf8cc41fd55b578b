// Local response normalization: the published formula by hand, and blocks against plain loops.
#include "kernels/local_response_norm/local_response_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "tensor/device.h"

namespace yoke::local_response_norm_test {

std::vector<float> Forward(const LocalResponseNormShape& shape, const std::vector<float>& input,
                           bool reference) {
  const auto kernel = MakeLocalResponseNorm(shape, {.reference = reference});
  const Buffer scratch(Cpu(), kernel->scratch_bytes() + 64);
  std::vector<float> output(input.size());
  kernel->Forward({.input = input.data(), .output = output.data(), .scratch = scratch.data()});
  return output;
}

std::vector<float> Backward(const LocalResponseNormShape& shape, const std::vector<float>& input,
                            std::vector<float> gradient, bool reference) {
  const auto kernel = MakeLocalResponseNorm(shape, {.reference = reference});
  const Buffer scratch(Cpu(), kernel->scratch_bytes() + 64);
  kernel->Backward({.input = input.data(),
                    .output_gradient = gradient.data(),
                    .input_gradient = gradient.data(),
                    .scratch = scratch.data()});
  return gradient;
}

TEST(LocalResponseNorm, DividesByTheMeanSquareOfNeighbours) {
  const LocalResponseNormShape shape{
      .batch = 1, .channels = 3, .pixels = 1, .size = 3, .alpha = 3, .beta = 0.5, .k = 2};
  for (const bool reference : {false, true}) {
    const std::vector<float> y = Forward(shape, {1, 2, 3}, reference);
    EXPECT_FLOAT_EQ(y[0], 1 / std::sqrt(2.0F + 1 + 4));
    EXPECT_FLOAT_EQ(y[1], 2 / std::sqrt(2.0F + 1 + 4 + 9));
    EXPECT_FLOAT_EQ(y[2], 3 / std::sqrt(2.0F + 4 + 9));
  }
}

/// Large enough for several threads, with a last block that is not full.
TEST(LocalResponseNorm, BlocksAgreeWithTheReference) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
    for (const double beta : {0.5, 0.75, 1.0, 2.5}) {
      const LocalResponseNormShape shape{
          .batch = 3, .channels = 50, .pixels = 179, .layout = layout, .alpha = 0.5, .beta = beta};
      std::vector<float> x(shape.Count()), dy(shape.Count());
      Random random{3};
      for (float& number : x) number = float(random.Uniform(-2, 2));
      for (float& number : dy) number = float(random.Uniform(-1, 1));
      const std::vector<float> y = Forward(shape, x, false), expected = Forward(shape, x, true);
      const std::vector<float> dx = Backward(shape, x, dy, false),
                               expected_dx = Backward(shape, x, dy, true);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(y[i], expected[i], 3e-6) << i;
        ASSERT_NEAR(dx[i], expected_dx[i], 3e-6) << i;
      }
    }
}

/// A window beyond all channels costs and gives what one over all of them does.
TEST(LocalResponseNorm, WindowsEndWithTheChannels) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
    for (const bool reference : {false, true}) {
      LocalResponseNormShape shape{
          .batch = 2, .channels = 3, .pixels = 5, .layout = layout, .size = 999999, .alpha = 1e6};
      std::vector<float> x(shape.Count());
      Random random{4};
      for (float& number : x) number = float(random.Uniform(-2, 2));
      const std::vector<float> wide = Forward(shape, x, reference);
      const std::vector<float> dx = Backward(shape, x, x, reference);
      EXPECT_LT(MakeLocalResponseNorm(shape, {.reference = reference})->scratch_bytes(), 1 << 16);
      shape.alpha *= 5.0 / shape.size, shape.size = 5;
      const std::vector<float> all = Forward(shape, x, reference);
      const std::vector<float> expected_dx = Backward(shape, x, x, reference);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(wide[i], all[i], 1e-6);
        EXPECT_NEAR(dx[i], expected_dx[i], 1e-6);
      }
    }
}

}  // namespace yoke::local_response_norm_test
