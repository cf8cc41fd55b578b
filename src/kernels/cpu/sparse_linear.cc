// Sparse linear, an example (forward) or a touched row (backward) a thread: entries are sorted by
// feature with a stable radix sort, so that each row is summed by one thread in the order of
// examples, whatever the number of threads.
#include "kernels/sparse_linear.h"

#include <algorithm>

#include "kernels/cpu/gradient.h"

namespace yoke::cpu {
namespace {

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
      for (int64_t k = x.offsets[n]; k < x.offsets[n + 1]; ++k)
        AddScaled(x.values ? x.values[k] : 1.0F, call.weight + x.ids[k] * s_.outputs, y);
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
    SortEntries();
    FindRows(*call.row_ids);
    const auto rows = static_cast<int64_t>(call.row_ids->size());
    call.row_values->resize(rows * s_.outputs);
#pragma omp parallel for schedule(dynamic, 16) if (call.input.Entries() * s_.outputs > 8192)
    for (int64_t r = 0; r < rows; ++r) {
      float* row = call.row_values->data() + r * s_.outputs;
      std::fill_n(row, s_.outputs, 0.0F);
      for (int64_t k = starts_[r]; k < starts_[r + 1]; ++k)
        AddScaled(entries_[k].value, call.output_gradient + entries_[k].example * s_.outputs, row);
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

  void CollectEntries(const SparseRows& x) {
    entries_.clear();
    for (int64_t n = 0; n < x.rows; ++n)
      for (int64_t k = x.offsets[n]; k < x.offsets[n + 1]; ++k)
        entries_.push_back({x.ids[k], int32_t(n), x.values ? x.values[k] : 1.0F});
  }

  /// By id, stable: eleven bits a pass.
  void SortEntries() {
    sorted_.resize(entries_.size());
    for (int shift = 0; (s_.features - 1) >> shift; shift += 11) {
      int64_t starts[2049] = {};
      for (const Entry& e : entries_) ++starts[(e.id >> shift & 2047) + 1];
      for (int i = 0; i < 2048; ++i) starts[i + 1] += starts[i];
      for (const Entry& e : entries_) sorted_[starts[e.id >> shift & 2047]++] = e;
      entries_.swap(sorted_);
    }
  }

  void FindRows(std::vector<int32_t>& ids) {
    ids.clear(), starts_.clear();
    for (size_t k = 0; k < entries_.size(); ++k)
      if (k == 0 || entries_[k].id != entries_[k - 1].id)
        ids.push_back(entries_[k].id), starts_.push_back(int64_t(k));
    starts_.push_back(int64_t(entries_.size()));
  }

  SparseLinearShape s_;
  std::vector<Entry> entries_, sorted_;  // kept from call to call
  std::vector<int64_t> starts_;          // first entry of each touched row
};

}  // namespace

std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape) {
  return std::make_unique<SparseRowsLinear>(shape);
}

}  // namespace yoke::cpu
