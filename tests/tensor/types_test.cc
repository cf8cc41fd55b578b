// Types: rounding of bf16, shapes, names.
#include "tensor/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace yoke::types_test {

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(float(Bf16(1.0F)), 1.0F);
  EXPECT_EQ(float(Bf16(1.0F + 0x1p-8F)), 1.0F);                // half way: to even
  EXPECT_EQ(float(Bf16(1.0F + 3 * 0x1p-8F)), 1.0F + 0x1p-6F);  // half way: to even, up
  EXPECT_EQ(float(Bf16(-1.0F - 0x1.1p-8F)), -1.0F - 0x1p-7F);
}

TEST(Bf16, KeepsInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float(Bf16(infinity)), infinity);
  EXPECT_TRUE(std::isnan(float(Bf16(std::nanf("")))));
}

TEST(Shape, CountsAndPrints) {
  const Shape shape{20, 24, 24};
  EXPECT_EQ(shape.Count(), 11520);
  EXPECT_EQ(shape.Text(), "20x24x24");
  EXPECT_EQ(shape.Batched(2), (Shape{2, 20, 24, 24}));
  EXPECT_EQ(Shape{}.Count(), 1);
}

TEST(DType, SizesAndNames) {
  EXPECT_EQ(SizeOf(DType::kBf16), 2);
  EXPECT_EQ(NameOf(DType::kU8), "u8");
}

}  // namespace yoke::types_test
