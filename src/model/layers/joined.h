// What layers with several inputs share.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/layer.h"

namespace yoke::layer {

/// Throws UserError unless all inputs are dense.
void RequireAllDense(const LayerContext& context, std::string_view type);

/// The plan that `make` gives for inputs that all have the type and layout of the first.
std::unique_ptr<LayerPlan> LikeTheFirst(
    const PlanRequest& request,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make);

/// All inputs of a call, or all their gradients, as one list, which is written to `all`.
void Gather(const Tensor& first, std::span<const Tensor> others, std::vector<Tensor>& all);

}  // namespace yoke::layer
