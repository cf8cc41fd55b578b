// Activation: an elementwise function whose derivative follows from its output.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "tensor/types.h"

namespace yoke {

enum class Activation : uint8_t {
  kRelu,     ///< max(0, x); derivative 0 at 0.
  kSigmoid,  ///< 1 / (1 + exp(-x))
  kTanh,
};

struct ActivationShape {
  Activation function = Activation::kRelu;
  int64_t count = 0;
  DType type = DType::kF32;  ///< f32 or bf16, of input and output.
};

struct ActivationCall {
  const void* input = nullptr;
  void* output = nullptr;  ///< Written by Forward; read by Backward.
  const void* output_gradient = nullptr;
  void* input_gradient = nullptr;  ///< output_gradient * derivative; may be its memory.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, output, output_gradient, input_gradient);
  }
};

using ActivationKernel = Kernel<ActivationCall>;

std::unique_ptr<ActivationKernel> MakeActivation(const ActivationShape& shape,
                                                 const Target& target = {});

}  // namespace yoke
