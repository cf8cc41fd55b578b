// Linear for a handful of examples, where reading the weights is all the work: each thread keeps
// the same rows of the weight in every pass (forward, gradients, and the update, which divides
// slices alike), so that they stay in its core's cache.
#include <omp.h>

#include <algorithm>
#include <array>

#include "kernels/cpu/vector.h"
#include "kernels/linear/linear.h"
#include "kernels/shared.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kMostExamples = 2;
constexpr int64_t kParallelWeights = 1 << 14;  // below, a team of threads costs more than it saves
constexpr int kRows = 4;  // rows at once, so that additions need not wait for each other

using Floats = Vector<8>::Floats;

/// Dot products of x with kRows rows that start `n` apart.
std::array<float, kRows> Dots(const float* x, const float* rows, int64_t n) {
  std::array<Floats, kRows> sums = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int r = 0; r < kRows; ++r)
      sums[r] += Vector<8>::Load(x + i) * Vector<8>::Load(rows + r * n + i);
  std::array<float, kRows> dots = {};
  for (int r = 0; r < kRows; ++r) {
    for (int lane = 0; lane < 8; ++lane) dots[r] += sums[r][lane];
    for (int64_t k = i; k < n; ++k) dots[r] += x[k] * rows[r * n + k];
  }
  return dots;
}

float Dot(const float* x, const float* row, int64_t n) {
  Floats sum = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) sum += Vector<8>::Load(x + i) * Vector<8>::Load(row + i);
  float dot = 0;
  for (int lane = 0; lane < 8; ++lane) dot += sum[lane];
  for (; i < n; ++i) dot += x[i] * row[i];
  return dot;
}

class LinearRows : public LinearKernel {
 public:
  explicit LinearRows(const LinearShape& shape)
      : s_(shape),
        threads_(s_.inputs * s_.outputs < kParallelWeights ? 1 : std::max(KernelThreads(), 1)) {}

  void Forward(const LinearCall& call) override {
    EachThread([&](int /*thread*/, int64_t begin, int64_t end) {
      for (int64_t b = 0; b < s_.batch; ++b) ForwardRows(call, b, begin, end);
    });
  }

  /// Each thread sums its rows' part of the input gradient in scratch; the parts are added in
  /// order.
  void Backward(const LinearCall& call) override {
    float* parts = call.input_gradient ? static_cast<float*>(call.scratch) : nullptr;
    const int64_t count = s_.batch * s_.inputs;
    const int team = EachThread([&](int thread, int64_t begin, int64_t end) {
      float* part = parts ? parts + thread * count : nullptr;
      if (part) std::fill_n(part, count, 0.0F);
      const int64_t rows = end - begin, first = rows * FirstPart(call.writer) / kSharedParts;
      for (int64_t i = 0; i < rows; ++i) BackwardRow(call, begin + (first + i) % rows, part);
    });
    if (!parts) return;
    float* dx = static_cast<float*>(call.input_gradient);
    std::copy_n(parts, count, dx);
    for (int thread = 1; thread < team; ++thread)
      for (int64_t i = 0; i < count; ++i) dx[i] += parts[thread * count + i];
  }

  int64_t scratch_bytes() const override {
    return s_.input_gradient ? threads_ * s_.batch * s_.inputs * SizeOf(DType::kF32) : 0;
  }
  std::string name() const override { return "vector rows"; }

 private:
  /// Calls work(thread, first row, end) on each thread of the team; returns its size.
  template <typename Work>
  int EachThread(Work work) const {
    int team = 1;
#pragma omp parallel num_threads(std::min(threads_, omp_get_max_threads())) if (threads_ > 1)
    {
      const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
      if (thread == 0) team = threads;
      work(thread, s_.outputs * thread / threads, s_.outputs * (thread + 1) / threads);
    }
    return team;
  }

  void ForwardRows(const LinearCall& call, int64_t b, int64_t begin, int64_t end) const {
    const int64_t n = s_.inputs;
    const float* x = static_cast<const float*>(call.input) + b * n;
    const float* w = static_cast<const float*>(call.weight);
    float* y = static_cast<float*>(call.output) + b * s_.Stride();
    int64_t o = begin;
    for (; o + kRows <= end; o += kRows) {
      const std::array<float, kRows> dots = Dots(x, w + o * n, n);
      std::copy(dots.begin(), dots.end(), y + o);
    }
    for (; o < end; ++o) y[o] = Dot(x, w + o * n, n);
    if (s_.bias)
      for (o = begin; o < end; ++o) y[o] += static_cast<const float*>(call.bias)[o];
    if (s_.relu)
      for (o = begin; o < end; ++o) y[o] = y[o] < 0 ? 0.0F : y[o];  // a NaN stays one
  }

  void BackwardRow(const LinearCall& call, int64_t o, float* part) const {
    const int64_t n = s_.inputs;
    const float* x = static_cast<const float*>(call.input);
    const float* w = static_cast<const float*>(call.weight) + o * n;
    float* dw = call.weight_gradient ? call.weight_gradient + o * n : nullptr;
    float sum = 0;
    for (int64_t b = 0; b < s_.batch; ++b) {
      const int64_t at = b * s_.Stride() + o;
      float& dy = static_cast<float*>(call.output_gradient)[at];
      if (s_.relu && !(static_cast<const float*>(call.output)[at] > 0)) dy = 0;
      sum += dy;
      if (part) Add(part + b * n, dy, w, n);
      if (s_.adds || !dw) continue;
      if (b == 0)
        Set(dw, dy, x, n);
      else
        Add(dw, dy, x + b * n, n);
    }
    const float* dy = static_cast<const float*>(call.output_gradient) + o;
    for (int64_t b = 0; s_.adds && b < s_.batch; ++b)
      AddShared(dw, call.factor * dy[b * s_.outputs], x + b * n, n);
    if (s_.bias && call.bias_gradient) call.bias_gradient[o] = sum;
  }

  /// y = a x
  static void Set(float* __restrict y, float a, const float* __restrict x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = a * x[i];
  }
  /// y += a x
  static void Add(float* __restrict y, float a, const float* __restrict x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
  }

  LinearShape s_;
  int threads_;
};

}  // namespace

std::unique_ptr<LinearKernel> LinearOfFew(const LinearShape& shape) {
  if (shape.type != DType::kF32 || shape.batch > kMostExamples) return nullptr;
  return std::make_unique<LinearRows>(shape);
}

}  // namespace yoke::cpu
