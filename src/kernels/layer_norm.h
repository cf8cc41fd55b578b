// Layer normalization: each row of numbers shifted and scaled to mean 0 and variance 1, then each
// column by its own weight and bias (Ba, Kiros and Hinton 2016).
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, mean and variance those of a row. On
/// the caller's kernel threads; sums are of f32.
struct LayerNormShape {
  int64_t rows = 0;
  int64_t columns = 0;
  DType type = DType::kF32;  ///< f32 or bf16, of input, output and their gradients.
  double epsilon = 1e-5;
};

struct LayerNormCall {
  const void* input = nullptr;
  void* output = nullptr;
  const float* weight = nullptr;     ///< [columns]; null: ones.
  const float* bias = nullptr;       ///< [columns]; null: zeros.
  float* saved = nullptr;            ///< [rows, 2]: mean and 1 / deviation, for Backward.
  float* weight_gradient = nullptr;  ///< Null: not wanted.
  float* bias_gradient = nullptr;    ///< Null: not wanted.
  const void* output_gradient = nullptr;
  void* input_gradient = nullptr;  ///< Null: not wanted. May be output_gradient's memory.
};

/// Writes output and saved (where that is given).
void LayerNorm(const LayerNormShape& shape, const LayerNormCall& call);
/// Writes the gradients.
void LayerNormBack(const LayerNormShape& shape, const LayerNormCall& call);

}  // namespace yoke
