// Sparse linear in plain loops: y[n] = b + sum over (id, v) of row n of v W[id]; dW[id] = sum over
// its uses of v dy[n].
#include "kernels/sparse_linear/sparse_linear.h"

#include <algorithm>

namespace yoke::reference {
namespace {

class SparseLoops : public SparseLinearKernel {
 public:
  explicit SparseLoops(const SparseLinearShape& shape) : s_(shape) {}

  void Forward(const SparseLinearCall& call) override {
    for (int64_t n = 0; n < call.input.rows; ++n) {
      float* y = call.output + n * s_.outputs;
      for (int64_t o = 0; o < s_.outputs; ++o) y[o] = s_.bias ? call.bias[o] : 0;
      for (int64_t k = call.input.offsets[n]; k < call.input.offsets[n + 1]; ++k)
        for (int64_t o = 0; o < s_.outputs; ++o)
          y[o] += Value(call, k) * Weight(call, call.input.ids[k] * s_.outputs + o);
      for (int64_t o = 0; o < s_.outputs; ++o) y[o] = s_.relu && y[o] < 0 ? 0 : y[o];
    }
  }

  void Backward(const SparseLinearCall& call) override {
    if (s_.bias) std::fill_n(call.bias_gradient, s_.outputs, 0.0F);
    const TouchedRows& touched = call.touched;
    const int64_t touched_rows = touched.Rows();
    std::fill_n(call.row_values, touched_rows * s_.outputs, 0.0F);
    for (int64_t n = 0; n < call.input.rows; ++n) {
      float* dy = call.output_gradient + n * s_.outputs;
      for (int64_t o = 0; o < s_.outputs; ++o) {
        if (s_.relu && call.output[n * s_.outputs + o] == 0) dy[o] = 0;
        if (s_.bias) call.bias_gradient[o] += dy[o];
      }
      for (int64_t k = call.input.offsets[n]; k < call.input.offsets[n + 1]; ++k) {
        const int32_t* const end = touched.ids + touched_rows;
        const auto at = std::lower_bound(touched.ids, end, call.input.ids[k]) - touched.ids;
        float* row = call.row_values + at * s_.outputs;
        for (int64_t o = 0; o < s_.outputs; ++o) row[o] += Value(call, k) * dy[o];
      }
    }
  }

  std::string name() const override { return "reference"; }

 private:
  static float Value(const SparseLinearCall& call, int64_t k) {
    return call.input.values ? call.input.values[k] : 1.0F;
  }

  static float Weight(const SparseLinearCall& call, int64_t i) {
    return call.bf16_weight ? static_cast<float>(call.bf16_weight[i]) : call.weight[i];
  }

  SparseLinearShape s_;
};

}  // namespace

std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape) {
  return std::make_unique<SparseLoops>(shape);
}

}  // namespace yoke::reference
