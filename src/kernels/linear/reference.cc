// Linear in plain loops: y = x W^T + b; dx = dy W, dW = dy^T x, db = sum of dy over the batch. Sums
// are f32.
#include "kernels/linear/linear.h"
#include "kernels/shared.h"

namespace yoke::reference {
namespace {

template <typename T>
class LinearLoops : public LinearKernel {
 public:
  explicit LinearLoops(const LinearShape& shape) : s_(shape) {}

  void Forward(const LinearCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    const T* w = static_cast<const T*>(call.weight);
    const T* b = static_cast<const T*>(call.bias);
    T* y = static_cast<T*>(call.output);
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t o = 0; o < s_.outputs; ++o) {
        float sum = s_.bias ? float(b[o]) : 0;
        for (int64_t i = 0; i < s_.inputs; ++i)
          sum += float(x[n * s_.inputs + i]) * float(w[o * s_.inputs + i]);
        y[n * s_.Stride() + o] = T(s_.relu && sum < 0 ? 0.0F : sum);
      }
  }

  void Backward(const LinearCall& call) override {
    if (s_.relu) MaskGradient(call);
    if (s_.bias && call.bias_gradient) BiasGradient(call);
    if (call.input_gradient) InputGradient(call);
    if (call.weight_gradient) WeightGradient(call);
  }

  std::string name() const override { return "reference"; }

 private:
  void MaskGradient(const LinearCall& call) const {
    const T* y = static_cast<const T*>(call.output);
    T* dy = static_cast<T*>(call.output_gradient);
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t at = n * s_.Stride(); at < n * s_.Stride() + s_.outputs; ++at)
        if (float(y[at]) == 0) dy[at] = T(0.0F);
  }

  void WeightGradient(const LinearCall& call) const {
    const T* x = static_cast<const T*>(call.input);
    const T* dy = static_cast<const T*>(call.output_gradient);
    for (int64_t o = 0; o < s_.outputs; ++o)
      for (int64_t i = 0; i < s_.inputs; ++i) {
        float sum = 0;
        for (int64_t n = 0; n < s_.batch; ++n)
          sum += float(dy[n * s_.Stride() + o]) * float(x[n * s_.inputs + i]);
        float* at = call.weight_gradient + o * s_.inputs + i;
        if (s_.adds)
          AddShared(at, call.factor, &sum, 1);
        else
          *at = sum;
      }
  }

  void BiasGradient(const LinearCall& call) const {
    const T* dy = static_cast<const T*>(call.output_gradient);
    for (int64_t o = 0; o < s_.outputs; ++o) {
      float sum = 0;
      for (int64_t n = 0; n < s_.batch; ++n) sum += float(dy[n * s_.Stride() + o]);
      call.bias_gradient[o] = sum;
    }
  }

  void InputGradient(const LinearCall& call) const {
    const T* w = static_cast<const T*>(call.weight);
    const T* dy = static_cast<const T*>(call.output_gradient);
    T* dx = static_cast<T*>(call.input_gradient);
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t i = 0; i < s_.inputs; ++i) {
        float sum = 0;
        for (int64_t o = 0; o < s_.outputs; ++o)
          sum += float(dy[n * s_.Stride() + o]) * float(w[o * s_.inputs + i]);
        dx[n * s_.inputs + i] = T(sum);
      }
  }

  LinearShape s_;
};

}  // namespace

std::unique_ptr<LinearKernel> Linear(const LinearShape& shape) {
  if (shape.type == DType::kBf16) return std::make_unique<LinearLoops<Bf16>>(shape);
  return std::make_unique<LinearLoops<float>>(shape);
}

}  // namespace yoke::reference
