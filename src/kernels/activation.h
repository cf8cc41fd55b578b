// Activation: an elementwise function whose derivative follows from its output.
#pragma once

#include <memory>
#include <string>

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

class ActivationKernel {
 public:
  virtual ~ActivationKernel() = default;
  virtual void Forward(const void* input, void* output) = 0;
  /// input_gradient = output_gradient * derivative; may be in place.
  virtual void Backward(const void* output, const void* output_gradient, void* input_gradient) = 0;
  virtual std::string name() const = 0;
};

std::unique_ptr<ActivationKernel> MakeActivation(const ActivationShape& shape,
                                                 bool reference = false);

}  // namespace yoke
