// Sparse: rows of a weight that sparse input selects: an output a thread forward, an element of a
// touched row a thread backward, each summed in the order of its entries.
#pragma once

#include "kernels/cuda/gradient.h"
#include "kernels/makers.h"
#include "kernels/sparse_linear/sparse_linear.h"

namespace yoke::cuda {

struct SparseForwardBody {
  SparseLinearCall call;
  int64_t outputs;
  bool bias, relu;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t n = i / outputs, o = i % outputs;
    float sum = bias ? call.bias[o] : 0;
    for (int64_t k = call.input.offsets[n]; k < call.input.offsets[n + 1]; ++k) {
      const int64_t at = call.input.ids[k] * outputs + o;
      const float w = call.bf16_weight ? Wide(call.bf16_weight[at]) : call.weight[at];
      sum += (call.input.values ? call.input.values[k] : 1.0F) * w;
    }
    call.output[i] = relu && sum < 0 ? 0.0F : sum;
  }
};

struct SparseRowsBody {
  SparseLinearCall call;
  int64_t outputs;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / outputs, o = i % outputs;
    if (row >= call.touched.Rows()) return;
    float sum = 0;
    for (int64_t k = call.touched.starts[row]; k < call.touched.starts[row + 1]; ++k) {
      const SparseEntry& entry = call.touched.entries[k];
      sum += entry.value * call.output_gradient[entry.example * outputs + o];
    }
    call.row_values[i] = sum;
  }
};

/// A mask and sums as of a linear layer, but of calls without scratch memory.
template <typename Grid>
class SparseLinearOn : public GridKernel<Grid, SparseLinearCall> {
 public:
  SparseLinearOn(const SparseLinearShape& shape, const Grid& grid)
      : GridKernel<Grid, SparseLinearCall>(grid), s_(shape) {}

  void Forward(const SparseLinearCall& call) override {
    this->grid_.Each(call.input.rows * s_.outputs,
                     SparseForwardBody{call, s_.outputs, s_.bias, s_.relu});
  }
  void Backward(const SparseLinearCall& call) override {
    const int64_t tiles = (s_.outputs + kWarp - 1) / kWarp;
    if (s_.bias || s_.relu)
      this->grid_.Teams(
          tiles, kMostThreads,
          MaskAndSumBody<float>{s_.relu ? call.output : nullptr, call.output_gradient,
                                s_.bias ? call.bias_gradient : nullptr, call.input.rows, s_.outputs,
                                s_.outputs, tiles, Most(call.input.rows, 1)});
    this->grid_.Each(call.touched.count * s_.outputs, SparseRowsBody{call, s_.outputs});
  }

 private:
  SparseLinearShape s_;
};

}  // namespace yoke::cuda
