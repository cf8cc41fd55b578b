// Active rows: products of examples with the rows of a weight that each has chosen, row by row:
// each row is read once a pass, and its gradient is written once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/sort_by_id.h"
#include "tensor/types.h"

namespace yoke {

/// An example's use of a row.
struct RowUse {
  int32_t id = 0;  ///< The row.
  int32_t example = 0;
  int64_t place = 0;  ///< Of its value in ActiveRowsCall::values and `gradient`.
};

/// The rows in use. Owns nothing.
struct UsedRows {
  int64_t count = 0;
  const int32_t* ids = nullptr;     ///< [count], increasing.
  const int64_t* starts = nullptr;  ///< [count + 1]: the first use of each row.
  const RowUse* uses = nullptr;     ///< By row; those of a row in the order in which they came.

  int64_t Uses() const { return count == 0 ? 0 : starts[count]; }
};

/// Finds them by a stable radix sort. Keeps its memory between calls.
class UsedRowList {
 public:
  /// To be filled, and then found: uses in the order of examples, none twice.
  std::vector<RowUse>& uses() { return uses_; }
  /// Sorts the uses, of rows in [0, rows).
  void Find(int64_t rows);
  /// Valid until the uses change.
  UsedRows View() const;
  const std::vector<int32_t>& ids() const { return ids_; }

 private:
  std::vector<RowUse> uses_;
  SortScratch<RowUse> scratch_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> starts_;
};

/// All values are f32, unless weights are stored in bf16.
struct ActiveRowsShape {
  int64_t batch = 0;
  int64_t inputs = 0;
  bool bias = true;
  bool relu = false;
  bool input_gradient = false;  ///< Backward computes it.
  /// With several threads, each takes an example in Backward, and they add to a row's gradient
  /// without locks: of two additions at the same time one may be lost (kernels/shared.h).
  bool lock_free = false;
};

/// The values of an example stand at [first, first + count).
struct ExamplePlaces {
  int64_t example = 0;
  int64_t first = 0;
  int64_t count = 0;
};

struct ActiveRowsCall {
  UsedRows used;
  std::span<const ExamplePlaces> places;  ///< Of all examples; for Backward, if lock_free.
  const float* input = nullptr;           ///< [batch, inputs]
  const float* weight = nullptr;          ///< [rows, inputs]
  const Bf16* bf16_weight = nullptr;      ///< The same where it is stored in bf16; else null.
  const float* bias = nullptr;            ///< [rows]
  float* values = nullptr;          ///< By place: written by Forward; read by Backward if relu.
  float* gradient = nullptr;        ///< By place. Zeroed where the ReLU was off.
  float* row_gradient = nullptr;    ///< Written by Backward: [used.count, inputs].
  float* bias_gradient = nullptr;   ///< Likewise: [used.count].
  float* input_gradient = nullptr;  ///< Likewise: [batch, inputs].
  void* scratch = nullptr;          ///< Of Backward: scratch_bytes(), 64-byte aligned.
};

/// Forward: value = input[example] . weight[id] + bias[id]. Unless lock_free, the result does not
/// depend on the number of threads.
using ActiveRowsKernel = Kernel<ActiveRowsCall>;

std::unique_ptr<ActiveRowsKernel> MakeActiveRows(const ActiveRowsShape& shape,
                                                 const Target& target = {});

}  // namespace yoke
