// The layer `linear`: every output is a weighted sum of all inputs and a bias.
#include "kernels/linear/linear.h"

#include "base/limits.h"
#include "model/layers/convert_input.h"
#include "model/layers/weighted.h"

namespace yoke::layer {
namespace {

using LinearPlan = WeightedPlan<LinearKernel, LinearCall>;

class Linear : public Layer {
 public:
  Linear(const Options& options, const LayerContext& context)
      : inputs_(context.input.shape.Count()),
        outputs_(options.Int("outputs")),
        bias_(options.Bool("bias")),
        initializers_(options) {}

  Shape OutputShape() const override { return {outputs_}; }

  std::vector<ParamSpec> Params() const override {
    return WeightAndBias({.shape = {outputs_, inputs_}, .fan_in = inputs_, .fan_out = outputs_},
                         bias_ ? outputs_ : 0, initializers_);
  }

  Cost Price(int64_t batch) const override {
    const double n = double(batch), i = double(inputs_), o = double(outputs_);
    return {.operations = 6 * n * i * o, .bytes = 4 * (3 * i * o + 3 * n * (i + o))};
  }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return ConvertInput(request, {.type = request.arithmetic}, [this](const PlanRequest& r) {
      LinearShape shape{.batch = r.batch,
                        .inputs = inputs_,
                        .outputs = outputs_,
                        .type = r.arithmetic,
                        .bias = bias_,
                        .relu = relu_,
                        .training = r.training,
                        .input_gradient = r.input_gradient};
      shape.adds = r.training && r.immediate && AddsFaster(shape);
      return std::make_unique<LinearPlan>(MakeLinear(shape, r.target),
                                          Edge{.shape = {shape.outputs}, .type = shape.type}, relu_,
                                          shape.adds);
    });
  }

  bool IsOutputProduct() const override { return !relu_; }

  bool Fuse(std::string_view activation) override {
    if (activation != "relu" || relu_) return false;
    relu_ = true;
    return true;
  }

 private:
  int64_t inputs_, outputs_;
  bool bias_, relu_ = false;
  WeightInitializers initializers_;
};

std::unique_ptr<Layer> MakeLinearLayer(const Options& options, const LayerContext& context) {
  RequireDense(context, "linear");
  return std::make_unique<Linear>(options, context);
}

}  // namespace

LayerEntry linear() {
  return {.name = "linear",
          .summary = "every output is a weighted sum of all inputs plus a bias",
          .options = WithWeightOptions({{.name = "outputs",
                                         .type = OptionType::kInt,
                                         .help = "Number of outputs.",
                                         .minimum = 1,
                                         .maximum = kMostCount,
                                         .required = true}},
                                       "fan_in_uniform", "fan_in_uniform"),
          .make = MakeLinearLayer};
}

}  // namespace yoke::layer
