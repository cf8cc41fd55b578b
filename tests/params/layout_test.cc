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
