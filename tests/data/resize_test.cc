// Resize: flat stays flat, ramps stay ramps, shrinking averages, growing interpolates.
#include "data/image.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/support/images.h"

namespace yoke::resize_test {

using testing_support::MakeImage;
using testing_support::PlainImage;

TEST(Resize, SameSizeIsTheSameImage) {
  const Image image =
      MakeImage({5, 4}, 3, [](int64_t y, int64_t x, int c) { return y * 40 + x * 9 + c; });
  EXPECT_EQ(Resize(image, {5, 4}).pixels, image.pixels);
}

TEST(Resize, FlatStaysFlatAtAnySize) {
  for (const ImageSize size : {ImageSize{1, 1}, {3, 7}, {10, 10}, {11, 9}, {64, 5}}) {
    const Image resized = Resize(PlainImage({10, 10}, 12, 200, 255), size);
    EXPECT_EQ(resized.size, size);
    EXPECT_EQ(resized.pixels, PlainImage(size, 12, 200, 255).pixels);
  }
}

TEST(Resize, ShrinkingWeighsAllPixels) {
  const Image checkers =
      MakeImage({64, 64}, 1, [](int64_t y, int64_t x, int) { return (x + y) % 2 ? 200 : 0; });
  for (const uint8_t pixel : Resize(checkers, {8, 8}).pixels) EXPECT_NEAR(pixel, 100, 2);
}

// 4 -> 2: weights 1, 3, 3, 1 (of 8) around the middle of the first pair, cut off at the border: (3a
// + 3b + c) / 7.
TEST(Resize, ShrinkingByTwoByHand) {
  const Image row = MakeImage({1, 4}, 1, [](int64_t, int64_t x, int) {
    return x == 0 ? 70 : x == 2 ? 140 : 0;
  });
  EXPECT_EQ(Resize(row, {1, 2}).pixels, (std::vector<uint8_t>{50, 60}));
  const Image column = MakeImage({4, 1}, 1, [](int64_t y, int64_t, int) {
    return y == 0 ? 70 : y == 2 ? 140 : 0;
  });
  EXPECT_EQ(Resize(column, {2, 1}).pixels, (std::vector<uint8_t>{50, 60}));
}

TEST(Resize, GrowingInterpolates) {
  const Image row = MakeImage({1, 2}, 1, [](int64_t, int64_t x, int) { return x * 100; });
  EXPECT_EQ(Resize(row, {1, 4}).pixels, (std::vector<uint8_t>{0, 25, 75, 100}));
}

TEST(Resize, ChannelsStayApart) {
  const Image image = MakeImage({6, 6}, 3, [](int64_t y, int64_t x, int c) {
    return c == 0 ? 8 * y : c == 1 ? 8 * x : 99;
  });
  const Image resized = Resize(image, {3, 3});
  EXPECT_NEAR(resized.pixels[(1 * 3 + 1) * 3 + 0], 20, 1);
  EXPECT_NEAR(resized.pixels[(1 * 3 + 2) * 3 + 1], 35, 2);
  EXPECT_EQ(resized.pixels[(2 * 3 + 0) * 3 + 2], 99);
}

}  // namespace yoke::resize_test
