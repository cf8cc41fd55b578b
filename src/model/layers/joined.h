// Helpers for layers with several inputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/layer.h"

namespace yoke::layer {

/// Throws UserError unless all inputs are dense.
void RequireAllDense(const LayerContext& context, std::string_view type);

/// Calls `make` for inputs that all have the type and layout of the first; other inputs are
/// converted.
std::unique_ptr<LayerPlan> LikeTheFirst(
    const PlanRequest& request,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make);

/// Writes all inputs of a call, or all their gradients, to the list `all`.
void Gather(const Tensor& first, std::span<const Tensor> others, std::vector<Tensor>& all);

}  // namespace yoke::layer
