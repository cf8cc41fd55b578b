// Activations in plain loops.
#include "kernels/activation/activation.h"

#include <cmath>

namespace yoke::reference {
namespace {

struct Relu {
  static float Value(float x) { return x < 0 ? 0.0F : x; }  // a NaN stays one
  static float Slope(float y) { return y > 0 ? 1.0F : 0.0F; }
};

struct Sigmoid {
  static float Value(float x) { return 1 / (1 + std::exp(-x)); }
  static float Slope(float y) { return y * (1 - y); }
};

struct Tanh {
  static float Value(float x) { return std::tanh(x); }
  static float Slope(float y) { return 1 - y * y; }
};

template <typename Function, typename T>
class ActivationLoop : public ActivationKernel {
 public:
  explicit ActivationLoop(int64_t count) : count_(count) {}

  void Forward(const ActivationCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    T* y = static_cast<T*>(call.output);
    for (int64_t i = 0; i < count_; ++i) y[i] = T(Function::Value(float(x[i])));
  }

  void Backward(const ActivationCall& call) override {
    const T* y = static_cast<const T*>(call.output);
    const T* dy = static_cast<const T*>(call.output_gradient);
    T* dx = static_cast<T*>(call.input_gradient);
    for (int64_t i = 0; i < count_; ++i) dx[i] = T(float(dy[i]) * Function::Slope(float(y[i])));
  }

  std::string name() const override { return "reference"; }

 private:
  int64_t count_;
};

template <typename Function>
std::unique_ptr<ActivationKernel> Make(const ActivationShape& shape) {
  if (shape.type == DType::kBf16)
    return std::make_unique<ActivationLoop<Function, Bf16>>(shape.count);
  return std::make_unique<ActivationLoop<Function, float>>(shape.count);
}

}  // namespace

std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape) {
  switch (shape.function) {
    case Activation::kSigmoid:
      return Make<Sigmoid>(shape);
    case Activation::kTanh:
      return Make<Tanh>(shape);
    default:
      return Make<Relu>(shape);
  }
}

}  // namespace yoke::reference
