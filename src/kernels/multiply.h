// Multiply: multiplies two tensors elementwise, or an image by one value per channel (a gate).
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

/// The gate has x's shape, or [batch, channels] for an x of [batch, channels, height, width], in
/// either layout; all f32 or all bf16.
struct MultiplyCall {
  Tensor x, gate, output, output_gradient;
  Tensor x_gradient;     ///< Null data: not needed. May use output_gradient's memory.
  Tensor gate_gradient;  ///< Null data: not needed. For a channel, the sum over its pixels, in f32.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(x.data, gate.data, output.data, output_gradient.data, x_gradient.data,
          gate_gradient.data);
  }
};

using MultiplyKernel = Kernel<MultiplyCall>;

/// output = x * gate, on the caller's kernel threads. Backward writes both gradients in one pass
/// over memory (two passes if the shapes are equal).
std::unique_ptr<MultiplyKernel> MakeMultiply(const Target& target = {});

}  // namespace yoke
