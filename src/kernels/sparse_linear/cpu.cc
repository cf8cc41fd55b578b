// Sparse linear, an example (forward) or a touched row (backward) a thread: each row is summed by
// one thread in the order of examples, whatever the number of threads.
#include "kernels/sparse_linear/sparse_linear.h"

#include "kernels/cpu/gradient.h"
#include "kernels/sparse_linear/cpu_rows.h"

namespace yoke::cpu {
namespace {

class SparseRowsLinear : public SparseLinearKernel {
 public:
  explicit SparseRowsLinear(const SparseLinearShape& shape) : s_(shape), sum_(SumRowsFor()) {}

  void Forward(const SparseLinearCall& call) override {
    const SparseRows& x = call.input;
#pragma omp parallel for schedule(dynamic, 1) if (x.Entries() * s_.outputs > 8192)
    for (int64_t n = 0; n < x.rows; ++n)
      if (call.bf16_weight)
        sum_.bf16(RowsOf(call, call.bf16_weight, n));
      else
        sum_.f32(RowsOf(call, call.weight, n));
  }

  void Backward(const SparseLinearCall& call) override {
    MaskAndSum({.rows = call.input.rows,
                .columns = s_.outputs,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr});
    const TouchedRows& touched = call.touched;
    const int64_t touched_rows = touched.Rows();
#pragma omp parallel for schedule(dynamic, 16) if (call.input.Entries() * s_.outputs > 8192)
    for (int64_t r = 0; r < touched_rows; ++r) {
      const SparseEntry* entries = touched.entries + touched.starts[r];
      sum_.f32({.matrix = call.output_gradient,
                .width = s_.outputs,
                .count = touched.starts[r + 1] - touched.starts[r],
                .rows = &entries->example,
                .weights = &entries->value,
                .step = sizeof(SparseEntry) / sizeof(float),
                .sum = call.row_values + r * s_.outputs});
    }
  }

  std::string name() const override { return "vector loops"; }

 private:
  /// What example n's output is the sum of.
  template <typename T>
  WeightedRows<T> RowsOf(const SparseLinearCall& call, const T* weight, int64_t n) const {
    const SparseRows& x = call.input;
    return {.matrix = weight,
            .width = s_.outputs,
            .count = x.offsets[n + 1] - x.offsets[n],
            .rows = x.ids + x.offsets[n],
            .weights = x.values ? x.values + x.offsets[n] : nullptr,
            .start = s_.bias ? call.bias : nullptr,
            .relu = s_.relu,
            .sum = call.output + n * s_.outputs};
  }

  SparseLinearShape s_;
  SumRows sum_;
};

}  // namespace

std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape) {
  return std::make_unique<SparseRowsLinear>(shape);
}

}  // namespace yoke::cpu
