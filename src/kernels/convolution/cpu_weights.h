// Weight gradients of channels-last convolutions, which are the library's slowest operation in that
// layout: dW[o][c][i][j] = sum over pixels of dY[pixel][o] X[pixel under tap (i, j)][c].
#pragma once

#include <memory>

#include "kernels/convolution/convolution.h"

namespace yoke::cpu {

struct WeightGradientCall {
  const void* input = nullptr;
  const void* output_gradient = nullptr;
  float* weight_gradient = nullptr;
  void* scratch = nullptr;  ///< scratch_bytes(), 64-byte aligned.
};

class WeightGradient {
 public:
  virtual ~WeightGradient() = default;
  virtual void Run(const WeightGradientCall& call) = 0;
  virtual int64_t scratch_bytes() const = 0;
};

/// Returns null where the library is better or the only option: other layouts, small groups, bf16
/// without AVX512-BF16. The order of sums depends on the number of threads in this call and, for a
/// product, in Run.
std::unique_ptr<WeightGradient> MakeWeightGradient(const ConvolutionShape& shape);

/// In bf16 by AMX; null where the CPU lacks it.
std::unique_ptr<WeightGradient> MakeAmxWeightGradient(const ConvolutionShape& shape);

/// For windows of one pixel and stride 1: one matrix product of the library over all pixels.
/// Returns null where that is slower than tiles.
std::unique_ptr<WeightGradient> MakeProductWeightGradient(const ConvolutionShape& shape);

/// Of depthwise convolutions (each channel is its own group), for windows where the library is
/// slow: larger than 3x3, or dilated. Returns null where the library is better or the only option.
std::unique_ptr<WeightGradient> MakeDepthwiseWeightGradient(const ConvolutionShape& shape);

}  // namespace yoke::cpu
