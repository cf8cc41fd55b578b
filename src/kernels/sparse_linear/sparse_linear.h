// Sparse linear: the sum of the weight's rows selected by sparse input, and the gradient of only
// these rows: the entries of sparse rows by feature are what it is summed from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/sort_by_id.h"
#include "tensor/tensor.h"

namespace yoke {

/// An entry of a sparse row.
struct SparseEntry {
  int32_t id = 0;  ///< The feature: a row of the weight.
  int32_t example = 0;
  float value = 0;
};

/// The touched rows of a weight. Owns nothing.
struct TouchedRows {
  int64_t count = 0;
  const int32_t* ids = nullptr;          ///< [count], increasing.
  const int64_t* starts = nullptr;       ///< [count + 1]: the first entry of each row.
  const SparseEntry* entries = nullptr;  ///< By row; those of a row in the order of examples.
  /// Where a device counts the rows: their number, at most `count`. Null: it is `count`.
  const int64_t* counted = nullptr;

  /// For who reads it where the rows lie.
  constexpr int64_t Rows() const { return counted ? *counted : count; }
};

/// Finds them on the host by a stable radix sort. Keeps its memory between calls.
class TouchedRowList {
 public:
  static constexpr int64_t kBytesAnEntry = 2 * sizeof(SparseEntry);  ///< Of memory, about.
  /// The rows that `input`, whose ids are in [0, features), touches; valid until the next call.
  /// Writes each once to `ids`, in increasing order.
  TouchedRows Find(const SparseRows& input, int64_t features, std::vector<int32_t>& ids);

 private:
  std::vector<SparseEntry> entries_;
  SortScratch<SparseEntry> scratch_;
  std::vector<int64_t> starts_;
};

/// All values are f32, unless weights are stored in bf16.
struct SparseLinearShape {
  int64_t features = 0;
  int64_t outputs = 0;
  bool bias = true;
  bool relu = false;
};

struct SparseLinearCall {
  SparseRows input;                   ///< One row per example; ids are below `features`.
  const float* weight = nullptr;      ///< [features, outputs]
  const Bf16* bf16_weight = nullptr;  ///< The same where it is stored in bf16; else null.
  const float* bias = nullptr;        ///< [outputs]
  float* output = nullptr;  ///< [batch, outputs]: written by Forward; read by Backward if relu.
  float* output_gradient = nullptr;  ///< Zeroed where the ReLU was off.
  float* bias_gradient = nullptr;
  TouchedRows touched = {};     ///< For Backward: the rows that `input` touches.
  float* row_values = nullptr;  ///< Written by Backward: their gradients, [touched.count, outputs].

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input.offsets, input.ids, input.values, weight, bf16_weight, bias, output,
          output_gradient, bias_gradient, touched.ids, touched.starts, touched.entries,
          touched.counted, row_values);
  }
};

using SparseLinearKernel = Kernel<SparseLinearCall>;

std::unique_ptr<SparseLinearKernel> MakeSparseLinear(const SparseLinearShape& shape,
                                                     const Target& target = {});

/// Throws Error unless all ids are in [0, features).
void CheckIds(const SparseRows& rows, int64_t features);

}  // namespace yoke
