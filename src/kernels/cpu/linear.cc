// Linear by three matrix products of oneDNN: y = x W^T + b (and a ReLU), dx = dy W, dW = dy^T x.
// The library reads the transposed operands in place.
#include "kernels/linear.h"

#include <algorithm>

#include "kernels/cpu/gradient.h"
#include "kernels/cpu/onednn.h"

namespace yoke::cpu {
namespace {

Description Transposed(int64_t rows, int64_t columns, DType type) {
  return Description({rows, columns}, TypeOf(type), dnnl::memory::format_tag::ba);
}

class LinearProducts : public LinearKernel {
 public:
  explicit LinearProducts(const LinearShape& shape)
      : s_(shape), engine_(dnnl::engine::kind::cpu, 0) {
    const int64_t n = s_.batch, in = s_.inputs, out = s_.outputs;
    forward_ = Product(Describe({n, in}, s_.type), Transposed(in, out, s_.type),
                       Describe({n, out}, s_.type), true);
    if (!s_.training) return;
    weight_ = Product(Transposed(out, n, s_.type), Describe({n, in}, s_.type),
                      Describe({out, in}, DType::kF32), false);
    if (s_.input_gradient)
      input_ = Product(Describe({n, out}, s_.type), Describe({out, in}, s_.type),
                       Describe({n, in}, s_.type), false);
  }

  /// False when one of the products would be slow loops of the library.
  bool fast() const { return fast_; }

  void Forward(const LinearCall& call) override {
    forward_.Run({call.input, call.weight, call.output, call.bias}, call.scratch);
  }

  void Backward(const LinearCall& call) override {
    MaskAndSum({.rows = s_.batch,
                .columns = s_.outputs,
                .type = s_.type,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr});
    weight_.Run({call.output_gradient, call.input, call.weight_gradient, nullptr}, call.scratch);
    if (call.input_gradient)
      input_.Run({call.output_gradient, call.weight, call.input_gradient, nullptr}, call.scratch);
  }

  int64_t scratch_bytes() const override {
    return std::max({forward_.scratch_bytes(), weight_.scratch_bytes(), input_.scratch_bytes()});
  }
  std::string name() const override { return name_; }

 private:
  Operation Product(const Description& a, const Description& b, const Description& c,
                    bool forward) {
    const Description bias =
        forward && s_.bias ? Describe({1, s_.outputs}, s_.type) : Description();
    const dnnl::matmul::primitive_desc description(engine_, a, b, bias, c,
                                                   Attributes(forward && s_.relu), true);
    fast_ = fast_ && IsFast(description);
    if (!fast_) return {};
    if (forward) name_ = std::string("onednn ") + description.impl_info_str();
    return MakeOperation<dnnl::matmul>(
        engine_, description,
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_BIAS, bias}});
  }

  LinearShape s_;
  dnnl::engine engine_;
  Operation forward_, weight_, input_;
  bool fast_ = true;
  std::string name_;
};

}  // namespace

std::unique_ptr<LinearKernel> Linear(const LinearShape& shape) {
  auto kernel = std::make_unique<LinearProducts>(shape);
  if (!kernel->fast()) return nullptr;
  return kernel;
}

}  // namespace yoke::cpu
