// Common implementation of layers that apply a function to each element whose derivative depends on
// the input.
#pragma once

#include <memory>

#include "kernels/elementwise.h"
#include "model/layers/support.h"

namespace yoke::layer {

/// A layer for `Function`, which has `float Value(float x) const` and the derivative `float
/// Slope(float x) const`.
template <typename Function>
class ElementwiseLayer : public Layer {
 public:
  ElementwiseLayer(Function function, const Shape& shape) : function_(function), shape_(shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override {
    constexpr double kOperations = 20;
    return Elementwise(batch * shape_.Count(), kOperations);
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<ElementwisePlan>(function_, request);
  }

 private:
  class ElementwisePlan : public LayerPlan {
   public:
    ElementwisePlan(Function function, const PlanRequest& request)
        : kernel_(MakeElementwise(function, request.target)) {
      output = request.input;
      gradient_in_place = 0;
      reads_output = false;
      kernel = kernel_->name();
    }
    void Forward(const LayerCall& call) override {
      kernel_->Forward({.input = call.input, .output = call.output});
    }
    void Backward(const LayerCall& call) override {
      if (call.input_gradient.data)
        kernel_->Backward({.input = call.input,
                           .output_gradient = call.output_gradient,
                           .input_gradient = call.input_gradient});
    }

   private:
    std::unique_ptr<ElementwiseKernel> kernel_;
  };

  Function function_;
  Shape shape_;
};

/// The layer of `function`; `type` is its name in messages.
template <typename Function>
std::unique_ptr<Layer> MakeElementwiseLayer(Function function, std::string_view type,
                                            const LayerContext& context) {
  RequireDense(context, type);
  return std::make_unique<ElementwiseLayer<Function>>(function, context.input.shape);
}

}  // namespace yoke::layer
