// ConvertInput: puts a conversion of type or image layout in front of a plan that wants its input
// otherwise.
#pragma once

#include <functional>
#include <memory>

#include "model/layer.h"

namespace yoke::layer {

/// What a layer's kernels read.
struct InputFormat {
  DType type = DType::kF32;
  Layout layout = Layout::kPlain;
};

/// Makes the plan for inputs in `format`; when one of the request's inputs has another, wraps it so
/// that this input is converted before it and the input's gradient behind it.
std::unique_ptr<LayerPlan> ConvertInput(
    const PlanRequest& request, InputFormat format,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make);

}  // namespace yoke::layer
