// Random resized crops: the laws of the draw, and stretching by hand.
#include "data/resized_crop.h"

#include <gtest/gtest.h>

#include <vector>

namespace yoke::resized_crop_test {

TEST(DrawCrop, AreaAndRatioOfSidesKeepTheirBounds) {
  constexpr int64_t kSide = 1000;
  constexpr int kDraws = 2000;
  Random random({1});
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Crop crop = DrawCrop(random, 0.08, kSide, kSide);
    EXPECT_GE(crop.top, 0);
    EXPECT_GE(crop.left, 0);
    EXPECT_LE(crop.top + crop.height, kSide);
    EXPECT_LE(crop.left + crop.width, kSide);
    EXPECT_NEAR(double(crop.width) / double(crop.height), 1.04, 0.30);
    const double area = double(crop.height * crop.width) / (kSide * kSide);
    EXPECT_GE(area, 0.079);
    sum += area;
  }
  EXPECT_NEAR(sum / kDraws, 0.478, 0.02);  // 0.54 less the large ones that do not fit
}

TEST(DrawCrop, IsTheWholeImageWhereNothingFits) {
  Random random({1});
  EXPECT_EQ(DrawCrop(random, 0.9, 10, 1000), (Crop{.height = 10, .width = 1000}));
}

TEST(StretchCrop, InterpolatesBetweenCentresOfPixels) {
  const std::vector<float> from = {9, 9, 9, 9, 9, 9, 2, 6, 9, 9, 4, 8, 9, 9, 9, 9};
  std::vector<float> to(16);
  StretchCrop({.top = 1, .left = 2, .height = 2, .width = 2}, from.data(), 4, 4, to.data());
  EXPECT_EQ(to,
            (std::vector<float>{2, 3, 5, 6, 2.5, 3.5, 5.5, 6.5, 3.5, 4.5, 6.5, 7.5, 4, 5, 7, 8}));
}

TEST(StretchCrop, TheWholeImageStaysAsItIs) {
  const std::vector<float> from = {1, 2, 3, 4, 5, 6};
  std::vector<float> to(6);
  StretchCrop({.height = 2, .width = 3}, from.data(), 2, 3, to.data());
  EXPECT_EQ(to, from);
}

}  // namespace yoke::resized_crop_test
