// ParamLayout: order, alignment, counts.
#include "params/layout.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace yoke::layout_test {

TEST(ParamLayout, PacksDenseSlicesFirstAndAligned) {
  ParamLayout layout;
  layout.Add({.name = "a.rows", .shape = {4, 5}, .kind = SliceKind::kRowSparse});
  layout.Add({.name = "a.bias", .shape = {5}});
  layout.Add({.name = "b.mean", .shape = {3}, .kind = SliceKind::kBuffer});
  layout.Add({.name = "c.weight", .shape = {2, 17}});
  layout.Pack();
  const auto& slices = layout.slices();
  EXPECT_EQ(slices[1].offset, 0);
  EXPECT_EQ(slices[3].offset, 16);
  EXPECT_EQ(layout.dense_size(), 16 + 48);
  EXPECT_EQ(slices[0].offset, 64);
  EXPECT_EQ(slices[2].offset, 64 + 32);
  EXPECT_EQ(layout.statistics_begin(), slices[2].offset);
  EXPECT_EQ(layout.size(), 64 + 32 + 16);
  EXPECT_EQ(layout.Parameters(), 20 + 5 + 34);
}

TEST(ParamLayout, StoresRowSparseMatricesInHalfThePlaces) {
  ParamLayout layout;
  layout.Add({.name = "a.rows", .shape = {5, 33}, .kind = SliceKind::kRowSparse});
  layout.Add({.name = "a.bias", .shape = {5}, .kind = SliceKind::kRowSparse});
  layout.Add({.name = "b.weight", .shape = {3, 5}});
  layout.StoreRowsAs(DType::kBf16);
  layout.Pack();
  const auto& slices = layout.slices();
  EXPECT_EQ(slices[0].type, DType::kBf16);
  EXPECT_EQ(slices[0].Places(), 83);
  EXPECT_EQ(slices[1].type, DType::kF32);
  EXPECT_EQ(slices[1].offset, slices[0].offset + 96);
  EXPECT_EQ(slices[2].Places(), 15);
  EXPECT_EQ(layout.Parameters(), 5 * 33 + 5 + 15);
}

TEST(ParamLayout, ShrinksInProportion) {
  ParamLayout layout;
  layout.Add({.name = "a.bias", .shape = {5}});
  layout.Add({.name = "a.weight", .shape = {40, 100}});
  layout.Add({.name = "b.weight", .shape = {20, 100}});
  layout.Add({.name = "b.mean", .shape = {1000}, .kind = SliceKind::kBuffer});
  layout.Pack();
  const ParamLayout small = layout.Shrunken(70);
  const auto& slices = small.slices();
  EXPECT_EQ(slices[0].Count(), 1);  // of at least one element
  EXPECT_EQ(slices[1].Count(), 40);
  EXPECT_EQ(slices[1].offset, 1);  // without gaps
  EXPECT_EQ(slices[2].Count(), 20);
  EXPECT_EQ(slices[2].kind, SliceKind::kDense);
  EXPECT_EQ(small.dense_size(), 61);
  EXPECT_EQ(small.size(), 71);
  EXPECT_EQ(layout.Shrunken(1 << 20).slices()[1].Count(), 4000);  // it does not grow
}

TEST(ParamLayout, NoStatisticsBeginAtTheEnd) {
  ParamLayout layout;
  layout.Add({.name = "weight", .shape = {5}});
  layout.Pack();
  EXPECT_EQ(layout.statistics_begin(), layout.size());
}

TEST(ParamLayout, RefusesTwoSlicesOfOneName) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {1}});
  layout.Add({.name = "a.weight", .shape = {2}});
  EXPECT_THROW(layout.Pack(), UserError);
}

}  // namespace yoke::layout_test
