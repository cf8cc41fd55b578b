// Sparse linear: the sum of the weight's rows selected by sparse input, and the gradient of only
// these rows.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/sparse_linear/touched_rows.h"

namespace yoke {

/// All values are f32.
struct SparseLinearShape {
  int64_t features = 0;
  int64_t outputs = 0;
  bool bias = true;
  bool relu = false;
};

struct SparseLinearCall {
  SparseRows input;               ///< One row per example; ids are below `features`.
  const float* weight = nullptr;  ///< [features, outputs]
  const float* bias = nullptr;    ///< [outputs]
  float* output = nullptr;  ///< [batch, outputs]: written by Forward; read by Backward if relu.
  float* output_gradient = nullptr;  ///< Zeroed where the ReLU was off.
  float* bias_gradient = nullptr;
  TouchedRows touched = {};     ///< For Backward: the rows that `input` touches.
  float* row_values = nullptr;  ///< Written by Backward: their gradients, [touched.count, outputs].

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input.offsets, input.ids, input.values, weight, bias, output, output_gradient,
          bias_gradient, touched.ids, touched.starts, touched.entries, row_values);
  }
};

using SparseLinearKernel = Kernel<SparseLinearCall>;

std::unique_ptr<SparseLinearKernel> MakeSparseLinear(const SparseLinearShape& shape,
                                                     const Target& target = {});

/// Throws Error unless all ids are in [0, features).
void CheckIds(const SparseRows& rows, int64_t features);

}  // namespace yoke
