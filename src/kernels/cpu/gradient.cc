// Columns are dealt to threads in blocks that stay in registers and the first cache.
#include "kernels/cpu/gradient.h"

#include <algorithm>

namespace yoke::cpu {
namespace {

constexpr int64_t kColumns = 64;

template <typename T, bool relu>
void Block(const GradientPass& pass, int64_t begin, int64_t width) {
  const T* y = static_cast<const T*>(pass.relu_output) + (relu ? begin : 0);
  T* g = static_cast<T*>(pass.gradient) + begin;
  float sums[kColumns] = {};
  for (int64_t row = 0; row < pass.rows; ++row, g += pass.columns, y += relu ? pass.columns : 0)
    for (int64_t j = 0; j < width; ++j) {
      if (relu) g[j] = float(y[j]) <= 0 ? T() : g[j];
      sums[j] += float(g[j]);
    }
  if (pass.bias_gradient) std::copy_n(sums, width, pass.bias_gradient + begin);
}

template <typename T>
void Columns(const GradientPass& pass) {
#pragma omp parallel for schedule(static) if (pass.rows * pass.columns > 8192)
  for (int64_t begin = 0; begin < pass.columns; begin += kColumns) {
    const int64_t width = std::min(kColumns, pass.columns - begin);
    if (pass.relu_output)
      Block<T, true>(pass, begin, width);
    else
      Block<T, false>(pass, begin, width);
  }
}

template <typename T>
void MaskNumbers(const MaskPass& pass) {
  const T* y = static_cast<const T*>(pass.relu_output);
  T* g = static_cast<T*>(pass.gradient);
#pragma omp parallel for simd schedule(static) if (pass.count > 16384)
  for (int64_t i = 0; i < pass.count; ++i) g[i] = float(y[i]) <= 0 ? T() : g[i];
}

}  // namespace

void Mask(const MaskPass& pass) {
  if (pass.type == DType::kBf16)
    MaskNumbers<Bf16>(pass);
  else
    MaskNumbers<float>(pass);
}

void MaskAndSum(const GradientPass& pass) {
  if (!pass.relu_output && !pass.bias_gradient) return;
  if (pass.type == DType::kBf16)
    Columns<Bf16>(pass);
  else
    Columns<float>(pass);
}

}  // namespace yoke::cpu
