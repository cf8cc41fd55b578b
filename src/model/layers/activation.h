// What the layers `relu`, `sigmoid` and `tanh` have in common: a function applied to each number,
// whose derivative needs the output alone (elementwise.h: those that need the input).
#pragma once

#include <memory>

#include "kernels/activation.h"
#include "model/layer.h"

namespace yoke::layer {

/// A layer that applies `function` to each number; `type` is its name in messages.
std::unique_ptr<Layer> MakeActivationLayer(Activation function, std::string_view type,
                                           const LayerContext& context);

}  // namespace yoke::layer
