// The layer `linear`: every output is a weighted sum of all inputs and a bias.
#include "kernels/linear/linear.h"

#include <utility>

#include "model/layer.h"
#include "model/layers/convert_input.h"
#include "model/layers/weighted.h"

namespace yoke::layer {
namespace {

using LinearPlan = WeightedPlan<LinearKernel, LinearCall>;

class Linear : public Layer, public FullyConnected {
 public:
  Linear(const Options& options, const LayerContext& context)
      : inputs_(context.input.shape.Count()),
        outputs_(options.Int("outputs")),
        bias_(options.Bool("bias")),
        initializers_(options) {}

  Edge Output() const override { return {.shape = {outputs_}}; }

  std::vector<ParamSpec> Params() const override {
    return WeightAndBias({.shape = {outputs_, inputs_}, .fan_in = inputs_, .fan_out = outputs_},
                         bias_ ? outputs_ : 0, initializers_);
  }

  Cost Price(int64_t batch) const override {
    const double n = double(batch), i = double(inputs_), o = double(outputs_);
    return {.operations = 6 * n * i * o, .bytes = 4 * (3 * i * o + 3 * n * (i + o))};
  }
  double ForwardPart() const override { return kForwardOfWeighted; }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return PlanThat(/*adds=*/false, request);
  }

  bool IsProduct() const override { return !relu_; }

  std::unique_ptr<LayerPlan> PlanInPlace(const PlanRequest& request) const override {
    const LinearShape shape{.batch = request.batch, .inputs = inputs_, .outputs = outputs_};
    return AddsFaster(shape) ? PlanThat(/*adds=*/true, request) : nullptr;
  }

  bool Fuse(Fusion what) override { return what == Fusion::kRelu && !std::exchange(relu_, true); }

 private:
  std::unique_ptr<LayerPlan> PlanThat(bool adds, const PlanRequest& request) const {
    return ConvertInput(request, {.type = request.arithmetic}, [&](const PlanRequest& r) {
      const LinearShape shape{.batch = r.batch,
                              .inputs = inputs_,
                              .outputs = outputs_,
                              .type = r.arithmetic,
                              .bias = bias_,
                              .relu = relu_,
                              .training = r.training,
                              .input_gradient = r.input_gradient,
                              .adds = adds};
      return std::make_unique<LinearPlan>(
          MakeLinear(shape, r.target), Edge{.shape = {shape.outputs}, .type = shape.type}, relu_);
    });
  }

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
          .options = WithWeightOptions({CountOption("outputs", {}, "Number of outputs.")},
                                       "fan_in_uniform", "fan_in_uniform"),
          .make = MakeLinearLayer};
}

}  // namespace yoke::layer
