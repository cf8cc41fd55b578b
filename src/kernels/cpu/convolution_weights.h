// Weight gradients of channels-last convolutions, which are the library's slowest operation in that
// layout: dW[o][c][i][j] = sum over pixels of dY[pixel][o] X[pixel under tap (i, j)][c].
#pragma once

#include <memory>

#include "kernels/convolution.h"

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

/// Null where the library does it better or alone: other layouts, groups, no AVX-512. The order of
/// its sums follows from the threads of this call, and, of a product, from those of Run.
std::unique_ptr<WeightGradient> MakeWeightGradient(const ConvolutionShape& shape);

/// Windows of one pixel and stride 1: a product of the library over all pixels. Null where that is
/// slower than tiles.
std::unique_ptr<WeightGradient> MakeProductWeightGradient(const ConvolutionShape& shape);

}  // namespace yoke::cpu
