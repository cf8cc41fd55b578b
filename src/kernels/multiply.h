// Multiply: multiplies two tensors elementwise, or an image by one value per channel (a gate).
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// output = x * gate. The gate has x's shape, or [batch, channels] for an x of [batch, channels,
/// height, width], in either layout; all f32 or all bf16. On the caller's kernel threads.
void Multiply(const Tensor& x, const Tensor& gate, const Tensor& output);

struct MultiplyGradients {
  Tensor x, gate, output_gradient;
  Tensor x_gradient;     ///< Null data: not needed. May use output_gradient's memory.
  Tensor gate_gradient;  ///< Null data: not needed. For a channel, the sum over its pixels, in f32.
};
/// Writes both gradients in one pass over memory (two passes if the shapes are equal).
void MultiplyBack(const MultiplyGradients& call);

}  // namespace yoke
