// Multiply: two tensors number by number, or an image by one number a channel (a gate).
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// output = x * gate. The gate has x's shape, or holds [batch, channels] numbers for an x of
/// [batch, channels, height, width], of either layout; all f32 or all bf16. On the caller's kernel
/// threads.
void Multiply(const Tensor& x, const Tensor& gate, const Tensor& output);

struct MultiplyGradients {
  Tensor x, gate, output_gradient;
  Tensor x_gradient;     ///< Null data: not wanted; may lie where output_gradient does.
  Tensor gate_gradient;  ///< Null data: not wanted; of a channel the sum over its pixels, in f32.
};
/// Writes both gradients in one pass over memory (in two where the shapes are equal).
void MultiplyBack(const MultiplyGradients& call);

}  // namespace yoke
