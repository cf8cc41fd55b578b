// Layer normalization: normalizes each row to mean 0 and variance 1, then applies each column's
// weight and bias (Ba, Kiros and Hinton 2016).
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and variance per row. On
/// the caller's kernel threads; sums are f32.
struct LayerNormShape {
  int64_t rows = 0;
  int64_t columns = 0;
  DType type = DType::kF32;  ///< Type of input, output and their gradients: f32 or bf16.
  double epsilon = 1e-5;
};

struct LayerNormCall {
  const void* input = nullptr;
  void* output = nullptr;
  const float* weight = nullptr;     ///< [columns]; null: ones.
  const float* bias = nullptr;       ///< [columns]; null: zeros.
  float* saved = nullptr;            ///< [rows, 2]: mean and 1 / standard deviation, for Backward.
  float* weight_gradient = nullptr;  ///< Null: not needed.
  float* bias_gradient = nullptr;    ///< Null: not needed.
  const void* output_gradient = nullptr;
  void* input_gradient = nullptr;  ///< Null: not needed. May be output_gradient's memory.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, output, weight, bias, saved, weight_gradient, bias_gradient, output_gradient,
          input_gradient);
  }
};

using LayerNormKernel = Kernel<LayerNormCall>;

/// Forward writes output and, if not null, saved.
std::unique_ptr<LayerNormKernel> MakeLayerNorm(const LayerNormShape& shape,
                                               const Target& target = {});

}  // namespace yoke
