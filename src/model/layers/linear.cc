// The layer `linear`: every output is a weighted sum of all inputs and a bias.
#include "kernels/linear.h"

#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class LinearPlan : public LayerPlan {
 public:
  LinearPlan(const LinearShape& shape, bool reference) : kernel_(MakeLinear(shape, reference)) {
    output = {.shape = {shape.outputs}, .type = shape.type};
    scratch_bytes = kernel_->scratch_bytes();
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override { kernel_->Forward(Arguments(call)); }
  void Backward(const LayerCall& call) override { kernel_->Backward(Arguments(call)); }

 private:
  static LinearCall Arguments(const LayerCall& call) {
    const bool bias = call.params.size() > 1;
    return {.input = call.input.data,
            .weight = call.params[0].value.data,
            .bias = bias ? call.params[1].value.data : nullptr,
            .output = call.output.data,
            .output_gradient = call.output_gradient.data,
            .input_gradient = call.input_gradient.data,
            .weight_gradient = call.params[0].gradient,
            .bias_gradient = bias ? call.params[1].gradient : nullptr,
            .scratch = call.scratch};
  }

  std::unique_ptr<LinearKernel> kernel_;
};

class Linear : public Layer {
 public:
  Linear(const Options& options, const LayerContext& context)
      : inputs_(context.input.shape.Count()),
        outputs_(options.Int("outputs")),
        bias_(options.Bool("bias")),
        initializer_(options.String("initializer")),
        bias_initializer_(options.String("bias_initializer")) {}

  Shape OutputShape() const override { return {outputs_}; }

  std::vector<ParamSpec> Params() const override {
    std::vector<ParamSpec> specs = {{.name = "weight",
                                     .shape = {outputs_, inputs_},
                                     .initializer = initializer_,
                                     .fan_in = inputs_,
                                     .fan_out = outputs_}};
    if (bias_)
      specs.push_back({.name = "bias",
                       .shape = {outputs_},
                       .initializer = bias_initializer_,
                       .fan_in = inputs_,
                       .fan_out = outputs_});
    return specs;
  }

  Cost Price(int64_t batch) const override {
    const double n = double(batch), i = double(inputs_), o = double(outputs_);
    return {.operations = 6 * n * i * o, .bytes = 4 * (3 * i * o + 3 * n * (i + o))};
  }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return ConvertInput(request, {.type = request.arithmetic}, [this](const PlanRequest& r) {
      const LinearShape shape{.batch = r.batch,
                              .inputs = inputs_,
                              .outputs = outputs_,
                              .type = r.arithmetic,
                              .bias = bias_,
                              .relu = relu_,
                              .training = r.training,
                              .input_gradient = r.input_gradient};
      return std::make_unique<LinearPlan>(shape, r.reference);
    });
  }

  bool Fuse(std::string_view activation) override {
    if (activation != "relu" || relu_) return false;
    relu_ = true;
    return true;
  }

 private:
  int64_t inputs_, outputs_;
  bool bias_, relu_ = false;
  std::string initializer_, bias_initializer_;
};

std::unique_ptr<Layer> Make(const Options& options, const LayerContext& context) {
  RequireDense(context, "linear");
  return std::make_unique<Linear>(options, context);
}

}  // namespace

LayerEntry linear() {
  return {.name = "linear",
          .summary = "every output is a weighted sum of all inputs, and a bias",
          .options = {{.name = "outputs",
                       .type = OptionType::kInt,
                       .help = "Numbers that come out.",
                       .minimum = 1,
                       .required = true},
                      {.name = "bias",
                       .type = OptionType::kBool,
                       .fallback = true,
                       .help = "Whether a bias is added."},
                      InitializerOption("initializer", "fan_in_uniform", "First weights."),
                      InitializerOption("bias_initializer", "fan_in_uniform", "First biases.")},
          .make = Make};
}

}  // namespace yoke::layer
