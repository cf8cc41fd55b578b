// Parameters and options of layers with a weight and an optional bias.
#include "model/layers/weighted.h"

namespace yoke::layer {

std::vector<OptionSpec> WithWeightOptions(std::vector<OptionSpec> own,
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

std::vector<ParamSpec> WeightAndBias(ParamSpec weight, int64_t outputs,
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

}  // namespace yoke::layer
