// The layer `multiply`: the product of two inputs, or of an image and one element per channel (Hu
// et al., "Squeeze-and-excitation networks", 2018).
#include "kernels/join/join.h"

#include "base/check.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class MultiplyPlan : public LayerPlan {
 public:
  explicit MultiplyPlan(const PlanRequest& request) : kernel_(MakeMultiply(request.target)) {
    output = request.input;
    gradient_in_place = 0;
    reads_output = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.x = call.input, .gate = call.others[0], .output = call.output});
  }
  void Backward(const LayerCall& call) override {
    kernel_->Backward({.x = call.input,
                       .gate = call.others[0],
                       .output_gradient = call.output_gradient,
                       .x_gradient = call.input_gradient,
                       .gate_gradient = call.other_gradients[0]});
  }

 private:
  std::unique_ptr<MultiplyKernel> kernel_;
};

class MultiplyLayer : public Layer {
 public:
  explicit MultiplyLayer(const Shape& shape) : shape_(shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * shape_.Count(), 4); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return LikeTheFirst(request,
                        [](const PlanRequest& r) { return std::make_unique<MultiplyPlan>(r); });
  }

 private:
  Shape shape_;
};

/// Whether `gate` has one element per channel of an image.
bool IsGate(const Shape& image, const Shape& gate) {
  return image.rank() == 3 && (gate == Shape{image[0]} || gate == Shape{image[0], 1, 1});
}

std::unique_ptr<Layer> MakeMultiplyLayer(const Options& /*options*/, const LayerContext& context) {
  RequireAllDense(context, "multiply");
  const Shape &first = context.input.shape, &second = context.others[0].shape;
  Require(first == second || IsGate(first, second),
          "layer '{}' (multiply) takes inputs of one shape, or an image and then a number for each "
          "of its channels, not {} and {}",
          context.name, first.Text(), second.Text());
  return std::make_unique<MultiplyLayer>(first);
}

}  // namespace

LayerEntry multiply() {
  return {.name = "multiply",
          .summary = "the product of two inputs, or of an image and one value per channel",
          .options = {},
          .make = MakeMultiplyLayer,
          .least_inputs = 2,
          .most_inputs = 2};
}

}  // namespace yoke::layer
