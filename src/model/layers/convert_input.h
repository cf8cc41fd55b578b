// ConvertInput: converts the type or image layout of a plan's input if the plan needs another one.
#pragma once

#include <functional>
#include <memory>

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

}  // namespace yoke::layer
