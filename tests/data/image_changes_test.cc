// Random resized crops: the laws of the draw.
#include "data/image_changes.h"

#include <gtest/gtest.h>

namespace yoke::image_changes_test {

TEST(DrawCrop, AreaAndRatioOfSidesKeepTheirBounds) {
  constexpr int64_t kSide = 1000;
  constexpr int kDraws = 2000;
  Random random({1});
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const ImageCrop crop = DrawCrop(random, 0.08, kSide, kSide);
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
  EXPECT_EQ(DrawCrop(random, 0.9, 10, 1000), (ImageCrop{.height = 10, .width = 1000}));
}

}  // namespace yoke::image_changes_test
