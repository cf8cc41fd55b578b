// Linear: output = input * weight^T + bias, optionally followed by a ReLU, and its gradients.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "tensor/types.h"

namespace yoke {

struct LinearShape {
  int64_t batch = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  DType type = DType::kF32;  ///< Type of activations, weight and bias: f32 or bf16. Parameter
                             ///< gradients are f32.
  bool bias = true;
  bool relu = false;
  bool training = false;        ///< Backward will be called.
  bool input_gradient = false;  ///< Backward computes it.
  bool adds = false;            ///< Backward adds to weight_gradient (LinearCall::factor).
  /// Elements from one row of output and output_gradient to the next; 0: outputs. Not if it `adds`.
  int64_t stride = 0;

  int64_t Stride() const { return stride ? stride : outputs; }
};

/// All row-major.
struct LinearCall {
  const void* input = nullptr;   ///< [batch, inputs]
  const void* weight = nullptr;  ///< [outputs, inputs]
  const void* bias = nullptr;    ///< [outputs]
  void* output = nullptr;  ///< [batch, outputs]: written by Forward; read by Backward if relu.
  /// Zeroed where the ReLU was off; overwritten if the shape `adds`.
  void* output_gradient = nullptr;
  void* input_gradient = nullptr;
  /// Written by Backward; null: not needed. If the shape `adds`, `factor` times the weight's
  /// gradient is added instead, after the last read of the weight. So it may be the weight itself,
  /// which other threads may read and write at the same time (kernels/shared.h).
  float* weight_gradient = nullptr;
  float factor = 0;
  int writer = 0;  ///< Writers with different indices start at different rows of a shared weight.
  float* bias_gradient = nullptr;  ///< [outputs]; null: not needed.
  void* scratch = nullptr;         ///< scratch_bytes() of the kernel, 64-byte aligned.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, weight, bias, output, output_gradient, input_gradient, weight_gradient,
          bias_gradient, scratch);
  }
};

using LinearKernel = Kernel<LinearCall>;

/// Whether a kernel that `adds` is faster for this shape than writing a gradient and applying it in
/// a second pass: measured for products of 1 to 64 examples. Depends only on batch, inputs and
/// outputs.
bool AddsFaster(const LinearShape& shape);

std::unique_ptr<LinearKernel> MakeLinear(const LinearShape& shape, const Target& target = {});

}  // namespace yoke
