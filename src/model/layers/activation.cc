// Layers that apply a function to each element; backward needs only the output.
#include "model/layers/activation.h"

#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class ActivationPlan : public LayerPlan {
 public:
  ActivationPlan(const ActivationShape& shape, const PlanRequest& request)
      : kernel_(MakeActivation(shape, request.target)) {
    output = request.input;
    gradient_in_place = 0;
    reads_input = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.input = call.input.data, .output = call.output.data});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.output = call.output.data,
                         .output_gradient = call.output_gradient.data,
                         .input_gradient = call.input_gradient.data});
  }

 private:
  std::unique_ptr<ActivationKernel> kernel_;
};

class ActivationLayer : public Layer {
 public:
  ActivationLayer(Activation function, const LayerContext& context)
      : function_(function), shape_(context.input.shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * shape_.Count(), function_ == Activation::kRelu ? 2 : 20);
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    const ActivationShape shape{
        .function = function_, .count = request.batch * shape_.Count(), .type = request.input.type};
    return std::make_unique<ActivationPlan>(shape, request);
  }

 private:
  Activation function_;
  Shape shape_;
};

}  // namespace

std::unique_ptr<Layer> MakeActivationLayer(Activation function, std::string_view type,
                                           const LayerContext& context) {
  RequireDense(context, type);
  return std::make_unique<ActivationLayer>(function, context);
}

}  // namespace yoke::layer
