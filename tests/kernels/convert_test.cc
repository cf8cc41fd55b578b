// Conversions there and back, of type and of image layout.
#include "kernels/convert.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/check.h"

namespace yoke::convert_test {

TEST(Convert, ChannelsLastAndBack) {
  std::vector<float> plain(2 * 3 * 4 * 5), last(plain.size()), back(plain.size());
  std::iota(plain.begin(), plain.end(), 0.0F);
  const Shape shape{2, 3, 4, 5};
  const Tensor from{.shape = shape, .data = plain.data()};
  const Tensor to{.shape = shape, .data = last.data(), .layout = Layout::kChannelsLast};
  Convert(from, to);
  EXPECT_EQ(last[((1 * 4 + 2) * 5 + 3) * 3 + 1], plain[((1 * 3 + 1) * 4 + 2) * 5 + 3]);
  Convert(to, {.shape = shape, .data = back.data()});
  EXPECT_EQ(back, plain);
}

TEST(Convert, Bf16RoundsToNearestEven) {
  const std::vector<float> from = {1, 1 + 1.0F / 256, 1 + 3.0F / 256, -2.5F};
  std::vector<Bf16> low(4);
  std::vector<float> back(4);
  Convert({.shape = {4}, .data = const_cast<float*>(from.data())},
          {.shape = {4}, .type = DType::kBf16, .data = low.data()});
  Convert({.shape = {4}, .type = DType::kBf16, .data = low.data()},
          {.shape = {4}, .data = back.data()});
  EXPECT_EQ(back, (std::vector<float>{1, 1, 1 + 4.0F / 256, -2.5F}));
}

TEST(Convert, RefusesOtherShapes) {
  std::vector<float> numbers(4);
  EXPECT_THROW(
      Convert({.shape = {4}, .data = numbers.data()}, {.shape = {3}, .data = numbers.data()}),
      Error);
}

}  // namespace yoke::convert_test
