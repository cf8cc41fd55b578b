// Columns (or parts of the rows) are dealt to threads.
#include "kernels/cpu/gradient.h"

#include <algorithm>

#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kColumns = 64, kFewColumns = 16;
constexpr int64_t kPanel = 32;  // rows that stay near while strip after strip is taken

using Loop = void (*)(const GradientPanel& panel);

void Columns(const GradientPass& pass, Loop loop) {
  const int64_t threads = pass.rows * pass.columns > 8192 ? KernelThreads() : 1;
  const bool few = threads > 1 && pass.columns < kColumns * threads;
  const int64_t columns = few ? kFewColumns : kColumns;
#pragma omp parallel for schedule(static) if (threads > 1)
  for (int64_t begin = 0; begin < pass.columns; begin += columns) {
    const int64_t width = std::min(columns, pass.columns - begin);
    float sums[kColumns] = {};
    loop({.rows = pass.rows,
          .column = begin,
          .columns = width,
          .step = pass.step ? pass.step : pass.columns,
          .relu_output = pass.relu_output,
          .gradient = pass.gradient,
          .sums = sums});
    if (pass.bias_gradient) std::copy_n(sums, width, pass.bias_gradient + begin);
  }
}

/// A part of the rows; its sums go to row `part` of partial_sums.
void RowPart(const GradientPass& pass, Loop loop, int64_t part) {
  const int64_t end = pass.rows * (part + 1) / kGradientParts;
  float* sums = pass.partial_sums + part * pass.columns;
  std::fill_n(sums, pass.columns, 0.0F);
  for (int64_t row = pass.rows * part / kGradientParts; row < end; row += kPanel)
    loop({.row = row,
          .rows = std::min(kPanel, end - row),
          .columns = pass.columns,
          .step = pass.step ? pass.step : pass.columns,
          .relu_output = pass.relu_output,
          .gradient = pass.gradient,
          .sums = sums});
}

void RowParts(const GradientPass& pass, Loop loop) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t part = 0; part < kGradientParts; ++part) RowPart(pass, loop, part);
#pragma omp for simd schedule(static)
    for (int64_t j = 0; j < pass.columns; ++j) {
      float sum = 0;
      for (int64_t part = 0; part < kGradientParts; ++part)
        sum += pass.partial_sums[part * pass.columns + j];
      pass.bias_gradient[j] = sum;
    }
  }
}

template <typename T>
void MaskElements(const MaskPass& pass) {
  const T* y = static_cast<const T*>(pass.relu_output);
  T* g = static_cast<T*>(pass.gradient);
#pragma omp parallel for simd schedule(static) if (pass.count > 16384)
  for (int64_t i = 0; i < pass.count; ++i) g[i] = float(y[i]) <= 0 ? T() : g[i];
}

template <typename T>
void ScaleElements(const ScalePass& pass) {
  T* g = static_cast<T*>(pass.gradient);
#pragma omp parallel for simd schedule(static) if (pass.count > 16384)
  for (int64_t i = 0; i < pass.count; ++i) g[i] = T(float(g[i]) * pass.factor);
}

}  // namespace

void Scale(const ScalePass& pass) {
  if (pass.type == DType::kBf16)
    ScaleElements<Bf16>(pass);
  else
    ScaleElements<float>(pass);
}

void Mask(const MaskPass& pass) {
  if (pass.type == DType::kBf16)
    MaskElements<Bf16>(pass);
  else
    MaskElements<float>(pass);
}

void MaskAndSum(const GradientPass& pass) {
  if (!pass.relu_output && !pass.bias_gradient) return;
  const GradientLoops loops = GradientLoopsFor();
  const Loop loop = pass.type == DType::kBf16 ? loops.bf16 : loops.f32;
  if (pass.partial_sums && pass.bias_gradient)
    RowParts(pass, loop);
  else
    Columns(pass, loop);
}

}  // namespace yoke::cpu
