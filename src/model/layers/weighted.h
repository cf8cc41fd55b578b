// Parameters, options and plans of layers with a weight and an optional bias.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/layers/support.h"

namespace yoke::layer {

/// Of a product of values and weights, and the gradients of both.
inline constexpr double kForwardOfWeighted = 1.0 / 3;

/// The initializers named by a layer's options.
struct WeightInitializers {
  explicit WeightInitializers(const Options& options)
      : weight(options.String("initializer")), bias(options.String("bias_initializer")) {}
  std::string weight, bias;
};

/// A layer's own options followed by `bias`, `initializer` and `bias_initializer`.
inline std::vector<OptionSpec> WithWeightOptions(std::vector<OptionSpec> own,
                                                 const std::string& initializer,
                                                 const std::string& bias_initializer) {
  own.push_back({.name = "bias",
                 .type = OptionType::kBool,
                 .fallback = true,
                 .help = "Whether a bias is added."});
  own.push_back(InitializerOption("initializer", initializer, "Initial weights."));
  own.push_back(InitializerOption("bias_initializer", bias_initializer, "Initial biases."));
  return own;
}

/// The parameters `weight` (shape, kind and fans as given) and, unless `outputs` is 0, `bias`.
inline std::vector<ParamSpec> WeightAndBias(ParamSpec weight, int64_t outputs,
                                            const WeightInitializers& initializers) {
  weight.name = "weight";
  weight.initializer = initializers.weight;
  std::vector<ParamSpec> specs = {weight};
  if (outputs > 0)
    specs.push_back({.name = "bias",
                     .shape = {outputs},
                     .initializer = initializers.bias,
                     .fan_in = weight.fan_in,
                     .fan_out = weight.fan_out});
  return specs;
}

/// A plan that passes a call's tensors to one kernel (linear, convolution).
template <typename Kernel, typename Call>
class WeightedPlan : public LayerPlan {
 public:
  /// `relu`: the kernel includes a ReLU, so Backward reads the output.
  WeightedPlan(std::unique_ptr<Kernel> chosen, Edge out, bool relu) : kernel_(std::move(chosen)) {
    output = out;
    reads_output = relu;
    scratch_bytes = kernel_->scratch_bytes();
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override { kernel_->Forward(Arguments(call)); }
  void Backward(const LayerCall& call) override { kernel_->Backward(Arguments(call)); }

 private:
  static Call Arguments(const LayerCall& call) {
    const bool bias = call.params.size() > 1;
    const ParamRef& weight = call.params[0];
    Call arguments{.input = call.input.data,
                   .weight = weight.value.data,
                   .bias = bias ? call.params[1].value.data : nullptr,
                   .output = call.output.data,
                   .output_gradient = call.output_gradient.data,
                   .input_gradient = call.input_gradient.data,
                   .weight_gradient = weight.gradient,
                   .bias_gradient = bias ? call.params[1].gradient : nullptr,
                   .scratch = call.scratch};
    if constexpr (requires { arguments.factor; }) {
      if (weight.writable) arguments.weight_gradient = weight.writable;
      arguments.factor = weight.update.factor;
      arguments.writer = weight.update.writer;
    }
    return arguments;
  }

  std::unique_ptr<Kernel> kernel_;
};

}  // namespace yoke::layer
