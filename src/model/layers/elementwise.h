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

  Shape OutputShape() const override { return shape_; }
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
    ElementwisePlan(Function function, const PlanRequest& request) : function_(function) {
      output = request.input;
      gradient_in_place = 0;
      reads_output = false;
      kernel = "loops";
    }
    void Forward(const LayerCall& call) override { ApplyEach(function_, call.input, call.output); }
    void Backward(const LayerCall& call) override {
      if (call.input_gradient.data)
        ApplySlope(function_, call.input, call.output_gradient, call.input_gradient);
    }

   private:
    Function function_;
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
