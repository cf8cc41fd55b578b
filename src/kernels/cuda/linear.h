// Linear: three products, seen by column: y^T = W x^T + b with a ReLU, dx^T = W^T dy^T, dW^T = x^T
// dy with the bias's gradient in its epilogue, unless a ReLU's mask needs a pass of its own.
#pragma once

#include <algorithm>

#include "kernels/cuda/gradient.h"
#include "kernels/linear/linear.h"
#include "kernels/makers.h"

namespace yoke::cuda {

template <typename Grid>
class LinearOn : public GridKernel<Grid, LinearCall> {
 public:
  using Product = typename Grid::Product;

  LinearOn(const LinearShape& shape, const Grid& grid)
      : GridKernel<Grid, LinearCall>(grid), s_(shape), mask_(s_.batch, s_.outputs, s_.Stride()) {
    const int64_t n = s_.batch, in = s_.inputs, out = s_.outputs, stride = s_.Stride();
    forward_ = Make({.m = out,
                     .n = n,
                     .k = in,
                     .transposed_a = true,
                     .lead_a = in,
                     .lead_b = in,
                     .lead_d = stride,
                     .result = s_.type,
                     .bias = s_.bias,
                     .relu = s_.relu});
    if (!s_.training) return;
    ProductShape weight = {.m = in,
                           .n = out,
                           .k = n,
                           .transposed_b = true,
                           .lead_a = in,
                           .lead_b = stride,
                           .lead_d = in,
                           .adds = s_.adds};
    weight_ = Make(weight);
    weight.sums = true;
    if (s_.bias && !s_.relu && !s_.adds) weight_with_bias_ = Make(weight);
    if (s_.input_gradient)
      input_ = Make({.m = in,
                     .n = n,
                     .k = out,
                     .lead_a = in,
                     .lead_b = stride,
                     .lead_d = in,
                     .result = s_.type});
  }

  /// Whether the library has all products without which it does not work.
  bool made() const {
    return forward_.made() && (!s_.training || weight_.made()) &&
           (!s_.input_gradient || !s_.training || input_.made());
  }

  void Forward(const LinearCall& call) override {
    forward_.Run(
        {call.weight, call.input, call.output, const_cast<void*>(call.bias), 1, call.scratch});
  }

  void Backward(const LinearCall& call) override {
    float* const bias = s_.bias ? call.bias_gradient : nullptr;
    const bool fused = bias && call.weight_gradient && weight_with_bias_ready_;
    WithType(s_.type, [&]<typename T>(T) {
      mask_.Run(this->grid_, static_cast<const T*>(s_.relu ? call.output : nullptr),
                static_cast<T*>(call.output_gradient), fused ? nullptr : bias, call.scratch);
    });
    if (call.input_gradient)
      input_.Run(
          {call.weight, call.output_gradient, call.input_gradient, nullptr, 1, call.scratch});
    if (call.weight_gradient)
      (fused ? weight_with_bias_ : weight_)
          .Run({call.input, call.output_gradient, call.weight_gradient, bias,
                s_.adds ? call.factor : 1, call.scratch});
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }
  std::string name() const override { return "cublaslt"; }

 private:
  Product Make(ProductShape shape) {
    shape.type = s_.type;
    shape.aligned = s_.Stride() == s_.outputs;  // else it may begin within a wider matrix
    Product product(shape, Target{&this->grid_.device(), &this->grid_.stream()});
    if (!product.made()) return product;
    scratch_bytes_ = std::max({scratch_bytes_, product.scratch_bytes(), mask_.scratch_bytes()});
    if (shape.sums) weight_with_bias_ready_ = true;
    return product;
  }

  LinearShape s_;
  MaskAndSum mask_;
  Product forward_, weight_, weight_with_bias_, input_;
  bool weight_with_bias_ready_ = false;
  int64_t scratch_bytes_ = 0;
};

}  // namespace yoke::cuda
