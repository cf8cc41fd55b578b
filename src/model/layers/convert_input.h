// ConvertInput: converts the type or image layout of a plan's input if the plan needs another one;
// and helpers for layers with several inputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/layer.h"

namespace yoke::layer {

/// The input format of a layer's kernels.
struct InputFormat {
  DType type = DType::kF32;
  Layout layout = Layout::kPlain;
};

/// Makes the plan for inputs in `format`. If an input of the request has another format, wraps the
/// plan so that this input is converted before it and the input's gradient after it.
std::unique_ptr<LayerPlan> ConvertInput(
    const PlanRequest& request, InputFormat format,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make);

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
