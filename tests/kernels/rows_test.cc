// Rows: gathered blocks hold what was asked for and zeros; merged rows are summed in the order of
// the blocks, by any number of threads.
#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/random.h"
#include "kernels/support/threads.h"

namespace yoke::rows_test {

using Ids = std::vector<int32_t>;
using Numbers = std::vector<float>;

Numbers Drawn(int64_t count, uint64_t seed) {
  Random random{seed, 7};
  Numbers numbers(count);
  for (float& x : numbers) x = static_cast<float>(random.Uniform(-1, 1));
  return numbers;
}

/// What GatherRows should write, number by number.
Numbers ExpectedBlock(const RowGather& g) {
  const float* table = static_cast<const float*>(g.table);
  Numbers block;
  for (int64_t r = 0; r < g.padded_rows; ++r)
    for (int64_t c = 0; c < g.padded_columns; ++c) {
      const auto wanted = g.columns.empty() ? g.width : static_cast<int64_t>(g.columns.size());
      const bool there = r < static_cast<int64_t>(g.rows.size()) && c < wanted;
      const int64_t column = there && !g.columns.empty() ? g.columns[c] : c;
      block.push_back(there ? table[g.rows[r] * g.width + column] : 0.0F);
    }
  return block;
}

/// Gathers as f32 and as bf16 into blocks that hold other numbers before, and compares.
void ExpectGathered(RowGather g) {
  const Numbers expected = ExpectedBlock(g);
  Numbers block(expected.size(), -7.0F);
  g.type = DType::kF32, g.block = block.data();
  GatherRows(g);
  EXPECT_EQ(block, expected);
  std::vector<Bf16> low(expected.size(), Bf16(-7.0F));
  g.type = DType::kBf16, g.block = low.data();
  GatherRows(g);
  for (size_t i = 0; i < low.size(); ++i)
    ASSERT_EQ(low[i].bits, Bf16(expected[i]).bits) << "at " << i;
}

TEST(GatherRows, TakesAllColumnsAndPadsWithZeros) {
  const Numbers table = Drawn(9 * 5, 1);
  const Ids rows = {8, 0, 3, 3};
  RowGather g{
      .table = table.data(), .width = 5, .rows = rows, .padded_rows = 4, .padded_columns = 5};
  ExpectGathered(g);
  g.padded_rows = 6, g.padded_columns = 8;
  ExpectGathered(g);
}

TEST(GatherRows, TakesChosenColumnsAndPadsWithZeros) {
  const Numbers table = Drawn(9 * 5, 2);
  const Ids rows = {1, 8, 2}, columns = {4, 0, 2};
  RowGather g{.table = table.data(),
              .width = 5,
              .rows = rows,
              .columns = columns,
              .padded_rows = 3,
              .padded_columns = 3};
  ExpectGathered(g);
  g.padded_rows = 4, g.padded_columns = 4;
  ExpectGathered(g);
}

TEST(GatherRows, WritesZerosWhereNoRowIsWanted) {
  const Numbers table = Drawn(10, 3);
  ExpectGathered({.table = table.data(), .width = 5, .padded_rows = 3, .padded_columns = 6});
}

TEST(GatherRows, IsTheSameForAnyNumberOfThreads) {
  const Numbers table = Drawn(500 * 70, 4);
  Ids rows, columns(50);
  for (int32_t r = 499; r >= 0; r -= 1) rows.push_back(r * 7 % 500);
  std::iota(columns.begin(), columns.end(), 11);
  for (const int threads : {1, 2, 3}) {
    const Threads scope(threads);
    RowGather g{.table = table.data(),
                .width = 70,
                .rows = rows,
                .padded_rows = 512,
                .padded_columns = 128};
    ExpectGathered(g);
    g.columns = columns;
    ExpectGathered(g);
  }
}

/// A block with memory of its own.
struct OwnBlock {
  Ids rows, columns;
  int64_t stride;
  Numbers values;

  RowBlock View() const {
    return {.rows = rows, .columns = columns, .values = values.data(), .stride = stride};
  }
};

struct Merged {
  Ids ids;
  Numbers values;
  bool operator==(const Merged&) const = default;
};

Merged Merge(RowMerge& merge, const std::vector<OwnBlock>& blocks, int64_t width) {
  std::vector<RowBlock> views;
  views.reserve(blocks.size());
  for (const OwnBlock& block : blocks) views.push_back(block.View());
  Merged merged{.ids = {5, 5}, .values = {7, 7, 7}};  // of an earlier step
  merge.Run(views, width, merged.ids, merged.values);
  return merged;
}

Merged Merge(const std::vector<OwnBlock>& blocks, int64_t width) {
  RowMerge merge;
  return Merge(merge, blocks, width);
}

/// The same, added up number by number.
Merged ExpectedMerge(const std::vector<OwnBlock>& blocks, int64_t width) {
  std::map<int32_t, Numbers> rows;
  for (const OwnBlock& block : blocks)
    for (size_t r = 0; r < block.rows.size(); ++r) {
      Numbers& sum = rows.try_emplace(block.rows[r], width, 0.0F).first->second;
      const auto count = block.columns.empty() ? width : static_cast<int64_t>(block.columns.size());
      for (int64_t i = 0; i < count; ++i)
        sum[block.columns.empty() ? i : block.columns[i]] += block.values[r * block.stride + i];
    }
  Merged merged;
  for (const auto& [id, sum] : rows) {
    merged.ids.push_back(id);
    merged.values.insert(merged.values.end(), sum.begin(), sum.end());
  }
  return merged;
}

TEST(RowMerge, ListsEachRowOnceIncreasing) {
  const std::vector<OwnBlock> blocks = {{{9, 2}, {}, 1, {1, 2}}, {{4, 9, 0}, {}, 1, {4, 8, 16}}};
  const Merged merged = Merge(blocks, 1);
  EXPECT_EQ(merged.ids, (Ids{0, 2, 4, 9}));
  EXPECT_EQ(merged.values, (Numbers{16, 2, 4, 9}));
}

TEST(RowMerge, PutsChosenColumnsInTheirPlaces) {
  // What lies behind the columns of a row is padding and must not be read into the sum.
  const std::vector<OwnBlock> blocks = {{{3, 1}, {0, 2}, 4, {1, 2, 99, 99, 4, 8, 99, 99}},
                                        {{3}, {}, 4, {16, 32, 64, 99}},
                                        {{1}, {1}, 2, {128, 99}}};
  const Merged merged = Merge(blocks, 3);
  EXPECT_EQ(merged.ids, (Ids{1, 3}));
  EXPECT_EQ(merged.values, (Numbers{4, 128, 8, 17, 32, 66}));
}

TEST(RowMerge, SumsInTheOrderOfBlocks) {
  // In f32 2^24 + 1 is 2^24: only 1 + 1 + 2^24 keeps the ones.
  constexpr float kLarge = 16777216;
  const OwnBlock one{{6}, {}, 1, {1}}, large{{6}, {}, 1, {kLarge}};
  EXPECT_EQ(Merge({one, one, large}, 1).values, (Numbers{kLarge + 2}));
  EXPECT_EQ(Merge({large, one, one}, 1).values, (Numbers{kLarge}));
  EXPECT_EQ(Merge({one, large, one}, 1).values, (Numbers{kLarge}));
  const OwnBlock at{{6}, {0}, 1, {1}};
  EXPECT_EQ(Merge({at, at, large}, 1).values, (Numbers{kLarge + 2}));
  EXPECT_EQ(Merge({large, at, at}, 1).values, (Numbers{kLarge}));
}

/// Blocks that share many rows, every other one of chosen columns.
std::vector<OwnBlock> DrawnBlocks(int64_t count, int64_t rows, int64_t width) {
  Random random{11};
  std::vector<OwnBlock> blocks(count);
  for (int64_t b = 0; b < count; ++b) {
    OwnBlock& block = blocks[b];
    for (int32_t id = 0; id < 2 * rows; ++id)
      if (random.Below(2) == 0) block.rows.push_back(id);
    std::reverse(block.rows.begin(), block.rows.end());
    for (int32_t c = 0; b % 2 == 1 && c < width; c += 1 + static_cast<int32_t>(random.Below(3)))
      block.columns.push_back(c);
    block.stride = width + 3;
    block.values = Drawn(static_cast<int64_t>(block.rows.size()) * block.stride, 20 + b);
  }
  return blocks;
}

TEST(RowMerge, GivesTheSameBitsForAnyNumberOfThreads) {
  // Enough rows that sorting and summing are both divided, and a few that are not.
  for (const int64_t rows : {10, 1500}) {
    const std::vector<OwnBlock> blocks = DrawnBlocks(9, rows, 17);
    const Merged expected = ExpectedMerge(blocks, 17);
    for (const int threads : {1, 2, 5, 16}) {
      const Threads scope(threads);
      EXPECT_EQ(Merge(blocks, 17), expected) << rows << " rows, " << threads << " threads";
    }
  }
}

TEST(RowMerge, SumsOtherValuesOfTheSameRows) {
  std::vector<OwnBlock> blocks = DrawnBlocks(3, 20, 6);
  RowMerge merge;
  Merged merged = Merge(merge, blocks, 6);
  for (OwnBlock& block : blocks) {
    block.columns.clear(), block.stride = 1;
    block.values = Drawn(std::ssize(block.rows), 90);
  }
  std::vector<RowBlock> views;
  for (const OwnBlock& block : blocks) views.push_back(block.View());
  merge.Sum(views, 1, merged.values);
  EXPECT_EQ(merged, ExpectedMerge(blocks, 1));
}

TEST(RowMerge, IsEmptyOfNothing) {
  EXPECT_EQ(Merge({}, 4), Merged{});
  EXPECT_EQ(Merge({{{}, {}, 4, {}}, {{}, {1}, 4, {}}}, 4), Merged{});
}

TEST(RowMerge, ForgetsItsLastRun) {
  RowMerge merge;
  const std::vector<OwnBlock> large = DrawnBlocks(5, 40, 6), small = {{{2}, {1}, 1, {3}}};
  for (const auto& blocks : {large, small, large})
    EXPECT_EQ(Merge(merge, blocks, 6), ExpectedMerge(blocks, 6));
  EXPECT_EQ(Merge(merge, {}, 6), Merged{});
}

}  // namespace yoke::rows_test
