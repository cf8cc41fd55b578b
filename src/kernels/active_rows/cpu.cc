// Active rows, rows dealt to threads. The parts whose input gradients are summed depend on the
// number of uses only, so the result does not depend on the number of threads.
#include <algorithm>

#include "base/algorithms.h"
#include "kernels/active_rows/cpu_rows.h"
#include "kernels/shared.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kRowsATime = 256;      // rows that a thread takes
constexpr int64_t kUsesAPart = 8192;     // enough to pay for a part's input gradients
constexpr int64_t kMostRowParts = 16;    // of a pass
constexpr int64_t kParallelUses = 1024;  // below, a team of threads costs more than it saves
constexpr int64_t kPlacesAhead = 3;      // whose rows are fetched from memory

/// The end of part `part` of `parts` with about as many uses each.
int64_t EndOfPart(const UsedRows& used, int64_t part, int64_t parts) {
  const int64_t uses = used.Uses() * (part + 1) / parts;
  return std::lower_bound(used.starts, used.starts + used.count, uses) - used.starts;
}

class ActiveRowVectors : public ActiveRowsKernel {
 public:
  explicit ActiveRowVectors(const ActiveRowsShape& shape)
      : s_(shape), loops_(ActiveRowsLoopsFor()) {}

  void Forward(const ActiveRowsCall& call) override {
#pragma omp parallel for schedule(dynamic, 1) if (call.used.Uses() > kParallelUses)
    for (int64_t begin = 0; begin < call.used.count; begin += kRowsATime) {
      std::vector<float> copy(CopySize(call));
      loops_.forward({.shape = s_,
                      .call = call,
                      .begin = begin,
                      .end = std::min(begin + kRowsATime, call.used.count),
                      .copy = copy.data()});
    }
  }

  void Backward(const ActiveRowsCall& call) override {
    if (s_.lock_free && KernelThreads() > 1) return BackwardLockFree(call);
    const int64_t parts = std::clamp<int64_t>(call.used.Uses() / kUsesAPart, 1, kMostRowParts);
#pragma omp parallel for schedule(dynamic, 1) if (parts > 1)
    for (int64_t part = 0; part < parts; ++part) {
      float* dx = s_.input_gradient ? InputGradientOf(call, part) : nullptr;
      if (dx) std::fill_n(dx, s_.batch * s_.inputs, 0.0F);
      std::vector<float> copy(CopySize(call));
      loops_.backward({.shape = s_,
                       .call = call,
                       .begin = part == 0 ? 0 : EndOfPart(call.used, part - 1, parts),
                       .end = EndOfPart(call.used, part, parts),
                       .copy = copy.data(),
                       .input_gradient = dx});
    }
    if (s_.input_gradient) AddParts(call, parts);
  }

  int64_t scratch_bytes() const override {
    return s_.input_gradient ? (kMostRowParts - 1) * s_.batch * s_.inputs * SizeOf(DType::kF32) : 0;
  }
  std::string name() const override { return "vector loops"; }

 private:
  size_t CopySize(const ActiveRowsCall& call) const {
    return call.bf16_weight ? static_cast<size_t>(s_.inputs) : 0;
  }

  /// Where a part sums it: the first one in place.
  float* InputGradientOf(const ActiveRowsCall& call, int64_t part) const {
    return part == 0 ? call.input_gradient
                     : static_cast<float*>(call.scratch) + (part - 1) * s_.batch * s_.inputs;
  }

  void AddParts(const ActiveRowsCall& call, int64_t parts) const {
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t part = 1; part < parts; ++part) {
        const float* from = InputGradientOf(call, part) + n * s_.inputs;
        float* to = call.input_gradient + n * s_.inputs;
        for (int64_t i = 0; i < s_.inputs; ++i) to[i] += from[i];
      }
  }

  void BackwardLockFree(const ActiveRowsCall& call) {
    PrepareRows(call);
#pragma omp parallel for schedule(dynamic, 1)
    for (const ExamplePlaces& places : call.places) BackwardExample(call, places);
  }

  /// Zeroes the rows' gradients, and notes which row each place uses.
  void PrepareRows(const ActiveRowsCall& call) {
    const UsedRows& used = call.used;
    int64_t end = 0;
    for (const ExamplePlaces& one : call.places) end = std::max(end, one.first + one.count);
    rows_.resize(end);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < used.count; ++r) {
      std::fill_n(call.row_gradient + r * s_.inputs, s_.inputs, 0.0F);
      if (s_.bias) call.bias_gradient[r] = 0;
      for (int64_t k = used.starts[r]; k < used.starts[r + 1]; ++k)
        rows_[used.uses[k].place] = static_cast<int32_t>(r);
    }
  }

  void BackwardExample(const ActiveRowsCall& call, const ExamplePlaces& places) const {
    const int64_t n = s_.inputs;
    const float* x = call.input + places.example * n;
    float* dx = s_.input_gradient ? call.input_gradient + places.example * n : nullptr;
    if (dx) std::fill_n(dx, n, 0.0F);
    const int64_t end = places.first + places.count;
    for (int64_t place = places.first; place < end; ++place) {
      if (place + kPlacesAhead < end) FetchRow(call, rows_[place + kPlacesAhead]);
      const int64_t row = rows_[place];
      float& dy = call.gradient[place];
      if (s_.relu && !(call.values[place] > 0)) dy = 0;
      AddShared(call.row_gradient + row * n, dy, x, n);
      if (s_.bias) AddShared(call.bias_gradient + row, 1, &dy, 1);
      if (!dx) continue;
      const int64_t first = call.used.ids[row] * n;
      if (call.bf16_weight)
        AddScaled(dx, dy, call.bf16_weight + first, n);
      else
        AddScaled(dx, dy, call.weight + first, n);
    }
  }

  /// The gradient and the weights of a row. Always inlined: see FetchAhead.
  [[gnu::always_inline]] void FetchRow(const ActiveRowsCall& call, int64_t row) const {
    const int64_t n = s_.inputs;
    FetchAhead(call.row_gradient + row * n, n);
    if (!s_.input_gradient) return;
    if (call.bf16_weight)
      FetchAhead(call.bf16_weight + call.used.ids[row] * n, n);
    else
      FetchAhead(call.weight + call.used.ids[row] * n, n);
  }

  template <typename T>
  static void AddScaled(float* to, float scale, const T* row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += scale * static_cast<float>(row[i]);
  }

  ActiveRowsShape s_;
  ActiveRowsLoops loops_;
  std::vector<int32_t> rows_;  ///< By place: index of its row among those in use.
};

}  // namespace

std::unique_ptr<ActiveRowsKernel> ActiveRows(const ActiveRowsShape& shape) {
  return std::make_unique<ActiveRowVectors>(shape);
}

}  // namespace yoke::cpu
