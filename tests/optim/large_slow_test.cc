// Large models: a packed model beyond 2^31 numbers, of which one step reaches the last. It takes 9
// GiB of memory.
//
// guards: src/params src/optim src/tensor (50 s)
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/registry.h"
#include "base/support/large.h"
#include "optim/racing.h"
#include "optim/rule.h"

namespace yoke::large_slow_test {

constexpr int64_t kBorder = int64_t{1} << 31;
constexpr int64_t kWidth = 512, kRows = kBorder / kWidth + 3;

std::unique_ptr<UpdateRule> PlainDescent() {
  const RuleEntry& entry = FindEntry(rules(), "rule", "sgd");
  return entry.make(Options("train", Table{}, entry.options));
}

ParamLayout Pack(SliceKind kind) {
  ParamLayout layout;
  layout.Add(
      {.name = "wide.weight", .shape = {kRows, kWidth}, .kind = kind, .initializer = "zeros"});
  layout.Add({.name = "small.bias", .shape = {17}, .initializer = "ones"});
  layout.Add(
      {.name = "last.mean", .shape = {5}, .kind = SliceKind::kBuffer, .initializer = "zeros"});
  layout.Pack();
  return layout;
}

TEST(LargeModel, IsPackedBeyond2To31Numbers) {
  const ParamLayout dense = Pack(SliceKind::kDense), rows = Pack(SliceKind::kRowSparse);
  EXPECT_EQ(dense.slices()[1].offset, kRows * kWidth);
  EXPECT_EQ(dense.dense_size(), kRows * kWidth + 32);
  EXPECT_EQ(rows.dense_size(), 32);
  for (const ParamLayout& layout : {dense, rows}) {
    EXPECT_EQ(layout.statistics_begin(), kRows * kWidth + 32);
    EXPECT_EQ(layout.size(), kRows * kWidth + 48);
    EXPECT_EQ(layout.Parameters(), kRows * kWidth + 17);
  }
}

/// Gradients are zeros that nobody has written, and take no memory.
TEST(LargeModel, ADenseStepReachesTheLastNumber) {
  if (const auto why = LacksGibibytes(9)) GTEST_SKIP() << *why;
  const ParamLayout layout = Pack(SliceKind::kDense);
  const auto rule = PlainDescent();
  ParamStore params(layout, Cpu());
  Gradients gradients(layout, Cpu());
  RuleState state(layout, *rule, Cpu());
  const std::vector<int64_t> places = {0, kBorder - 1, kBorder, kRows * kWidth - 1};
  for (const int64_t at : places) gradients.dense().Host()[at] = 3;
  EXPECT_EQ(GradientNorm(layout, gradients), 6);
  Apply(params, {.rule = *rule, .state = state, .gradients = gradients, .learning_rate = 0.5});
  for (const int64_t at : places) EXPECT_EQ(params.values(0).Host()[at], -1.5F) << at;
  double sum = 0;
  for (int64_t i = 0; i < layout.size(); ++i) sum += params.values().Host()[i];
  EXPECT_EQ(sum, -6);
}

TEST(LargeModel, AStepOfRowsReachesTheLastRow) {
  if (const auto why = LacksGibibytes(9)) GTEST_SKIP() << *why;
  const ParamLayout layout = Pack(SliceKind::kRowSparse);
  const auto rule = PlainDescent();
  ParamStore params(layout, Cpu());
  Initialize(params, 3, 2);
  EXPECT_EQ(params.values(1).Host()[16], 1);
  Gradients gradients(layout, Cpu());
  RuleState state(layout, *rule, Cpu());
  const auto touch = [&] {
    gradients.rows(0).ids = {0, kBorder / kWidth - 1, kBorder / kWidth, kRows - 1};
    gradients.rows(0).values.assign(4 * kWidth, 2);
  };
  touch();
  Apply(params, {.rule = *rule, .state = state, .gradients = gradients, .learning_rate = 0.25});
  RacingUpdates racing(layout, *rule, state);
  racing.Apply(0, params.values().Host().data(), gradients, {.learning_rate = 0.25});
  double sum = 0;
  for (int64_t i = 0; i < kRows * kWidth; ++i) sum += params.values(0).Host()[i];
  EXPECT_EQ(sum, -4 * kWidth);
  for (const int32_t row : gradients.rows(0).ids) {
    EXPECT_EQ(params.values(0).Host()[row * kWidth], -1) << row;
    EXPECT_EQ(state.row_steps(0).Host()[row], 2);
  }
  EXPECT_EQ(params.values(1).Host()[16], 1);
}

TEST(LargeModel, EachNumberIsDrawnByItsPlace) {
  if (const auto why = LacksGibibytes(9)) GTEST_SKIP() << *why;
  ParamLayout layout;
  layout.Add({.name = "wide.weight",
              .shape = {kRows, kWidth},
              .kind = SliceKind::kRowSparse,
              .initializer = "fan_in_uniform"});
  layout.Pack();
  ParamStore params(layout, Cpu());
  Initialize(params, 3, 2);
  // No two runs of numbers are the same, and the last are drawn.
  const float* values = params.values(0).Host().data();
  for (const int64_t at : {kBorder - kWidth, kBorder, (kRows - 1) * kWidth}) {
    EXPECT_FALSE(std::equal(values + at, values + at + kWidth, values)) << at;
    EXPECT_FALSE(std::equal(values + at, values + at + kWidth, values + at - kBorder / 2)) << at;
    for (int64_t i = 0; i < kWidth; ++i) EXPECT_NE(values[at + i], 0) << at + i;
  }
}

}  // namespace yoke::large_slow_test
