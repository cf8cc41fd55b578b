// Rows: gathers rows of a large matrix into a dense block, and merges gradients of such blocks into
// one gradient per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sort_by_id.h"
#include "tensor/types.h"

namespace yoke {

/// Copies table[rows[i], columns[j]] to block [padded_rows, padded_columns]; padding is 0.
struct RowGather {
  const void* table = nullptr;
  int64_t width = 0;               ///< Row length of the table.
  DType table_type = DType::kF32;  ///< f32 or bf16.
  std::span<const int32_t> rows;
  std::span<const int32_t> columns;  ///< Empty: all columns.
  int64_t padded_rows = 0;
  int64_t padded_columns = 0;
  DType type = DType::kF32;  ///< Type of the block: f32 or bf16.
  void* block = nullptr;
};
/// Runs on the caller's kernel threads.
void GatherRows(const RowGather& gather);

/// A block of gradients [rows, stride] for some rows and columns.
struct RowBlock {
  std::span<const int32_t> rows;
  std::span<const int32_t> columns;  ///< Empty: all of them.
  const float* values = nullptr;
  int64_t stride = 0;
};

/// Sums blocks by row. One thread sums each row in the order of the blocks, so the result does not
/// depend on the number of threads. Keeps its memory between calls.
class RowMerge {
 public:
  /// Match, then Sum.
  void Run(std::span<const RowBlock> blocks, int64_t width, std::vector<int32_t>& ids,
           std::vector<float>& values);
  /// Writes each row of the blocks once, in increasing order, to `ids`.
  void Match(std::span<const RowBlock> blocks, std::vector<int32_t>& ids);
  /// Writes the sums to `values` [ids, width]. The blocks have the rows of the last Match.
  void Sum(std::span<const RowBlock> blocks, int64_t width, std::vector<float>& values) const;
  /// Memory that it keeps for each row of the blocks.
  static constexpr int64_t BytesARow() { return 2 * sizeof(Place); }

 private:
  struct Place {
    int32_t id;
    int32_t block;
    int32_t row;
  };
  /// Lists the blocks' rows by row, and within a row in the order of the blocks.
  void ListPlaces(std::span<const RowBlock> blocks);
  void SumRow(std::span<const RowBlock> blocks, int64_t row, int64_t width, float* to) const;
  /// The first row that begins at this place or later.
  int64_t RowAt(int64_t place) const;

  std::vector<int64_t> firsts_;  ///< First place of each block.
  std::vector<Place> places_;
  SortScratch<Place> scratch_;
  std::vector<int64_t> starts_;
};

}  // namespace yoke
