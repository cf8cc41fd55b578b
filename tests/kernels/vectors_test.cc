// Vectors: each against its formula, also where the result is one of the arguments.
#include "kernels/vectors.h"

#include <gtest/gtest.h>

#include <vector>

namespace yoke::vectors_test {

using Array = std::vector<float>;

TEST(Vectors, AreTheirFormulas) {
  const Array x = {1, 2, 4}, p = {8, 6, 4}, q = {2, 2, 2};
  const auto after = [](const auto& operation) {
    Array y = {1, -1, 0.5F};
    operation(y);
    return y;
  };
  EXPECT_EQ(after([](Array& y) { Scale(y, 2); }), (Array{2, -2, 1}));
  EXPECT_EQ(after([](Array& y) { Divide(y, 4); }), (Array{0.25F, -0.25F, 0.125F}));
  EXPECT_EQ(after([&](Array& y) { Add(y, x); }), (Array{2, 1, 4.5F}));
  EXPECT_EQ(after([&](Array& y) { AddScaled(y, 0.5F, x); }), (Array{1.5F, 0, 2.5F}));
  EXPECT_EQ(after([&](Array& y) { Subtract(y, x); }), (Array{0, -3, -3.5F}));
  EXPECT_EQ(after([&](Array& y) { AddDifference(y, 0.5F, p, q); }), (Array{4, 1, 1.5F}));
  EXPECT_EQ(after([&](Array& y) { ScaledDifference(y, 0.5F, p, q); }), (Array{3, 2, 1}));
  EXPECT_EQ(after([&](Array& y) { MoveTowards(y, 0.25F, x); }), (Array{1, -0.25F, 1.375F}));
  EXPECT_EQ(after([&](Array& y) { MoveTowardsAll(y, 0.5F, x, 2); }), (Array{0.5F, 1, 2}));
  EXPECT_EQ(after([&](Array& y) { AddDifference(y, 1, p, y); }), (Array{8, 6, 4}));
}

}  // namespace yoke::vectors_test
