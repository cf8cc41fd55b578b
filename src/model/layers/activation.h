// Common implementation of `relu`, `sigmoid` and `tanh`: elementwise functions whose derivative
// depends only on the output. (elementwise.h has those that depend on the input.)
#pragma once

#include <memory>

#include "kernels/activation/activation.h"
#include "model/layer.h"

namespace yoke::layer {

/// A layer that applies `function` to each element; `type` is its name in messages.
std::unique_ptr<Layer> MakeActivationLayer(Activation function, std::string_view type,
                                           const LayerContext& context);

}  // namespace yoke::layer
