// The layer `add`: the sum of its inputs.
#include "base/check.h"
#include "kernels/activation.h"
#include "kernels/convert.h"
#include "kernels/join.h"
#include "model/layers/joined.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class AddPlan : public LayerPlan {
 public:
  AddPlan(const PlanRequest& request, bool relu) {
    output = request.input;
    gradient_in_place = 0;
    reads_input = false;
    reads_output = relu;
    kernel = "loops";
    if (relu)
      relu_ = MakeActivation({.function = Activation::kRelu,
                              .count = request.batch * output.shape.Count(),
                              .type = output.type},
                             request.reference);
  }

  void Forward(const LayerCall& call) override {
    Gather(call.input, call.others, all_);
    Sum(all_, relu_ != nullptr, call.output);
  }

  void Backward(const LayerCall& call) override {
    void* const gradient = call.output_gradient.data;
    if (relu_) relu_->Backward(call.output.data, gradient, gradient);
    Gather(call.input_gradient, call.other_gradients, all_);
    for (const Tensor& input : all_)
      if (input.data && input.data != gradient) Convert(call.output_gradient, input);
  }

 private:
  std::unique_ptr<ActivationKernel> relu_;
  std::vector<Tensor> all_;  // inputs, or their gradients
};

class Add : public Layer {
 public:
  explicit Add(const LayerContext& context)
      : shape_(context.input.shape), inputs_(1 + static_cast<int64_t>(context.others.size())) {}

  Shape OutputShape() const override { return shape_; }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * shape_.Count(), static_cast<double>(inputs_));
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return LikeTheFirst(
        request, [this](const PlanRequest& r) { return std::make_unique<AddPlan>(r, relu_); });
  }
  bool Fuse(std::string_view type) override {
    if (type != "relu" || relu_) return false;
    return relu_ = true;
  }

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
          .most_inputs = kAnyNumber};
}

}  // namespace yoke::layer
