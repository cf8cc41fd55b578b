// The layer `add`: the sum of its inputs.
#include <utility>

#include "base/check.h"
#include "kernels/activation/activation.h"
#include "kernels/convert.h"
#include "kernels/join/join.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class AddPlan : public LayerPlan {
 public:
  AddPlan(const PlanRequest& request, bool relu)
      : sum_(MakeSum(relu, request.target)), convert_(MakeConvert(request.target)) {
    output = request.input;
    gradient_in_place = 0;
    reads_input = false;
    reads_output = relu;
    kernel = sum_->name();
    if (relu)
      relu_ = MakeActivation({.function = Activation::kRelu,
                              .count = request.batch * output.shape.Count(),
                              .type = output.type},
                             request.target);
  }

  void Forward(const LayerCall& call) override {
    Gather(call.input, call.others, call_.inputs);
    call_.output = call.output;
    sum_->Forward(call_);
  }

  void Backward(const LayerCall& call) override {
    void* const gradient = call.output_gradient.data;
    if (relu_)
      relu_->Backward(
          {.output = call.output.data, .output_gradient = gradient, .input_gradient = gradient});
    Gather(call.input_gradient, call.other_gradients, call_.inputs);
    for (const Tensor& input : call_.inputs)
      if (input.data && input.data != gradient)
        convert_->Forward({.from = call.output_gradient, .to = input});
  }

 private:
  std::unique_ptr<SumKernel> sum_;
  std::unique_ptr<ConvertKernel> convert_;
  std::unique_ptr<ActivationKernel> relu_;
  SumCall call_;  // its list holds inputs, or their gradients
};

class Add : public Layer {
 public:
  explicit Add(const LayerContext& context)
      : shape_(context.input.shape), inputs_(1 + static_cast<int64_t>(context.others.size())) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * shape_.Count(), static_cast<double>(inputs_));
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return LikeTheFirst(
        request, [this](const PlanRequest& r) { return std::make_unique<AddPlan>(r, relu_); });
  }
  bool Fuse(Fusion what) override { return what == Fusion::kRelu && !std::exchange(relu_, true); }

 private:
  Shape shape_;
  int64_t inputs_;
  bool relu_ = false;
};

std::unique_ptr<Layer> MakeAddLayer(const Options& /*options*/, const LayerContext& context) {
  RequireAllDense(context, "add");
  for (const Edge& other : context.others)
    Require(other.shape == context.input.shape,
            "layer '{}' (add) takes inputs of one shape, not {} and {}", context.name,
            context.input.shape.Text(), other.shape.Text());
  return std::make_unique<Add>(context);
}

}  // namespace

LayerEntry add() {
  return {.name = "add",
          .summary = "the sum of two or more inputs",
          .options = {},
          .make = MakeAddLayer,
          .least_inputs = 2,
          .most_inputs = kAnyNumber,
          .fusion = Fusion::kAdd};
}

}  // namespace yoke::layer
