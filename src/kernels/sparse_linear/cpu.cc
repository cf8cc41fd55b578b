// Sparse linear, an example (forward) or a touched row (backward) a thread: entries are sorted by
// feature with a stable radix sort, so that each row is summed by one thread in the order of
// examples, whatever the number of threads.
#include "kernels/sparse_linear/sparse_linear.h"

#include <algorithm>

#include "base/fetch_ahead.h"
#include "kernels/cpu/gradient.h"
#include "kernels/cpu/vector.h"
#include "kernels/sort_by_id.h"

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
      for (int64_t k = x.offsets[n]; k < x.offsets[n + 1]; ++k) {
        if (k + kAhead < x.offsets[n + 1])
          FetchAhead(call.weight + x.ids[k + kAhead] * s_.outputs, s_.outputs);
        AddScaled(x.values ? x.values[k] : 1.0F, call.weight + x.ids[k] * s_.outputs, y);
      }
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
    CollectEntries(call.input);
    SortById(entries_, room_, s_.features);
    FindRuns(entries_, *call.row_ids, starts_);
    const auto rows = static_cast<int64_t>(call.row_ids->size());
    call.row_values->resize(rows * s_.outputs);
#pragma omp parallel for schedule(dynamic, 16) if (call.input.Entries() * s_.outputs > 8192)
    for (int64_t r = 0; r < rows; ++r) {
      float* row = call.row_values->data() + r * s_.outputs;
      int64_t o = 0;
      for (; o + kColumnsAtOnce <= s_.outputs; o += kColumnsAtOnce)
        SumBlock(r, call.output_gradient + o, row + o);
      SumRest(r, call.output_gradient, o, row);
    }
  }

  std::string name() const override { return "vector loops"; }

 private:
  struct Entry {
    int32_t id;
    int32_t example;
    float value;
  };

  void AddScaled(float scale, const float* from, float* to) const {
#pragma omp simd
    for (int64_t o = 0; o < s_.outputs; ++o) to[o] += scale * from[o];
  }

  /// A part of row r's gradient, summed in registers.
  void SumBlock(int64_t r, const float* gradient, float* to) const {
    V::Floats sums[kColumnsAtOnce / 8] = {};
    for (int64_t k = starts_[r]; k < starts_[r + 1]; ++k) {
      const float* from = gradient + entries_[k].example * s_.outputs;
      for (int64_t i = 0; i < kColumnsAtOnce / 8; ++i)
        sums[i] += entries_[k].value * V::Load(from + i * 8);
    }
    for (int64_t i = 0; i < kColumnsAtOnce / 8; ++i) V::Store(sums[i], to + i * 8);
  }

  void SumRest(int64_t r, const float* gradient, int64_t begin, float* row) const {
    std::fill(row + begin, row + s_.outputs, 0.0F);
    for (int64_t k = starts_[r]; k < starts_[r + 1]; ++k)
      for (int64_t o = begin; o < s_.outputs; ++o)
        row[o] += entries_[k].value * gradient[entries_[k].example * s_.outputs + o];
  }

  void CollectEntries(const SparseRows& x) {
    entries_.clear();
    for (int64_t n = 0; n < x.rows; ++n)
      for (int64_t k = x.offsets[n]; k < x.offsets[n + 1]; ++k)
        entries_.push_back({x.ids[k], int32_t(n), x.values ? x.values[k] : 1.0F});
  }

  SparseLinearShape s_;
  std::vector<Entry> entries_;
  SortRoom<Entry> room_;         // kept from call to call
  std::vector<int64_t> starts_;  // first entry of each touched row
};

}  // namespace

std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape) {
  return std::make_unique<SparseRowsLinear>(shape);
}

}  // namespace yoke::cpu
