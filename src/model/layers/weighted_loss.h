// WeighLoss: a loss times the weight of its layer (an auxiliary head) and those of the examples.
#pragma once

#include <memory>

#include "model/layer.h"

namespace yoke::layer {

/// The option `weight` of a loss.
OptionSpec LossWeightOption();

/// A plan of `plan`'s loss, whose values and gradients are multiplied by `weight` and, if the batch
/// has weights, by each example's.
std::unique_ptr<LayerPlan> WeighLoss(std::unique_ptr<LayerPlan> plan, double weight,
                                     const Target& target);

}  // namespace yoke::layer
