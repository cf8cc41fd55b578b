// Sparse linear, an example (forward) or a touched row (backward) a thread: each row is summed by
// one thread in the order of examples, whatever the number of threads.
#include "kernels/sparse_linear/sparse_linear.h"

#include <algorithm>

#include "base/fetch_ahead.h"
#include "kernels/cpu/gradient.h"
#include "kernels/cpu/vector.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kAhead = 4;           // rows asked for before they are needed
constexpr int64_t kColumnsAtOnce = 64;  // columns whose sums stay in registers

using V = Vector<8>;

class SparseRowsLinear : public SparseLinearKernel {
 public:
  explicit SparseRowsLinear(const SparseLinearShape& shape) : s_(shape) {}

  void Forward(const SparseLinearCall& call) override {
    const SparseRows& x = call.input;
#pragma omp parallel for schedule(dynamic, 1) if (x.Entries() * s_.outputs > 8192)
    for (int64_t n = 0; n < x.rows; ++n) {
      float* y = call.output + n * s_.outputs;
      if (s_.bias)
        std::copy_n(call.bias, s_.outputs, y);
      else
        std::fill_n(y, s_.outputs, 0.0F);
      if (call.bf16_weight)
        AddRows(x, n, call.bf16_weight, y);
      else
        AddRows(x, n, call.weight, y);
      if (s_.relu)
        for (int64_t o = 0; o < s_.outputs; ++o) y[o] = y[o] < 0 ? 0 : y[o];
    }
  }

  void Backward(const SparseLinearCall& call) override {
    MaskAndSum({.rows = call.input.rows,
                .columns = s_.outputs,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr});
    const int64_t rows = call.touched.count;
#pragma omp parallel for schedule(dynamic, 16) if (call.input.Entries() * s_.outputs > 8192)
    for (int64_t r = 0; r < rows; ++r) {
      float* row = call.row_values + r * s_.outputs;
      int64_t o = 0;
      for (; o + kColumnsAtOnce <= s_.outputs; o += kColumnsAtOnce) SumBlock(call, r, o, row);
      if (o < s_.outputs) SumRest(call, r, o, row);
    }
  }

  std::string name() const override { return "vector loops"; }

 private:
  /// Adds the rows of example n's features, times their values.
  template <typename T>
  void AddRows(const SparseRows& x, int64_t n, const T* weight, float* y) const {
    for (int64_t k = x.offsets[n]; k < x.offsets[n + 1]; ++k) {
      if (k + kAhead < x.offsets[n + 1])
        FetchAhead(weight + x.ids[k + kAhead] * s_.outputs, s_.outputs);
      AddScaled(x.values ? x.values[k] : 1.0F, weight + x.ids[k] * s_.outputs, y);
    }
  }

  template <typename T>
  void AddScaled(float scale, const T* from, float* to) const {
#pragma omp simd
    for (int64_t o = 0; o < s_.outputs; ++o) to[o] += scale * static_cast<float>(from[o]);
  }

  /// A part of row r's gradient from column `begin` on, summed in registers.
  void SumBlock(const SparseLinearCall& call, int64_t r, int64_t begin, float* row) const {
    const TouchedRows& touched = call.touched;
    V::Floats sums[kColumnsAtOnce / 8] = {};
    for (int64_t k = touched.starts[r]; k < touched.starts[r + 1]; ++k) {
      const SparseEntry& entry = touched.entries[k];
      const float* from = call.output_gradient + entry.example * s_.outputs + begin;
      for (int64_t i = 0; i < kColumnsAtOnce / 8; ++i)
        sums[i] += entry.value * V::Load(from + i * 8);
    }
    for (int64_t i = 0; i < kColumnsAtOnce / 8; ++i) V::Store(sums[i], row + begin + i * 8);
  }

  void SumRest(const SparseLinearCall& call, int64_t r, int64_t begin, float* row) const {
    const TouchedRows& touched = call.touched;
    std::fill(row + begin, row + s_.outputs, 0.0F);
    for (int64_t k = touched.starts[r]; k < touched.starts[r + 1]; ++k) {
      const SparseEntry& entry = touched.entries[k];
      const float* from = call.output_gradient + entry.example * s_.outputs;
      for (int64_t o = begin; o < s_.outputs; ++o) row[o] += entry.value * from[o];
    }
  }

  SparseLinearShape s_;
};

}  // namespace

std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape) {
  return std::make_unique<SparseRowsLinear>(shape);
}

}  // namespace yoke::cpu
