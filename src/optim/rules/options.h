// The options that several update rules share.
#pragma once

#include "base/options.h"

namespace yoke {

inline OptionSpec WeightDecayOption(const char* help, double fallback = 0.0) {
  return {.name = "weight_decay",
          .type = OptionType::kFloat,
          .fallback = fallback,
          .help = help,
          .minimum = 0};
}

/// L2 regularization: weight_decay * value is added to the gradient.
inline OptionSpec CoupledDecayOption() {
  return WeightDecayOption("L2 penalty: this times the value is added to the gradient.");
}

inline OptionSpec FractionOption(const char* name, double fallback, const char* help) {
  return {.name = name,
          .type = OptionType::kFloat,
          .fallback = fallback,
          .help = help,
          .minimum = 0,
          .maximum = 1};
}

/// A decay of 1 would ignore all new gradients.
inline OptionSpec DecayOption(const char* name, double fallback, const char* help) {
  constexpr double kMost = 0.999999;
  OptionSpec option = FractionOption(name, fallback, help);
  option.maximum = kMost;
  return option;
}

inline OptionSpec MomentumOption() {
  return FractionOption("momentum", 0.9, "Fraction of the previous direction that is kept.");
}

inline OptionSpec EpsilonOption(double fallback) {
  return {.name = "epsilon",
          .type = OptionType::kFloat,
          .fallback = fallback,
          .help = "Added to the root of the mean square to avoid division by zero.",
          .minimum = 0,
          .exclusive_minimum = true};
}

/// The options of Adam and AdamW; `decay` is their form of weight decay.
inline std::vector<OptionSpec> AdamOptions(const OptionSpec& decay) {
  return {DecayOption("beta1", 0.9, "Decay of the mean of the gradients."),
          DecayOption("beta2", 0.999, "Decay of the mean of the squared gradients."),
          EpsilonOption(1e-8), decay};
}

}  // namespace yoke
