// What the losses have in common: scores and labels in, one number an example out.
#pragma once

#include <memory>

#include "kernels/cross_entropy.h"
#include "model/layer.h"

namespace yoke::layer {

/// A loss layer; `type` is its name in messages. Backward takes no output gradient: it writes the
/// gradient of the mean loss.
std::unique_ptr<Layer> MakeLoss(CrossEntropy function, std::string_view type,
                                const LayerContext& context);

}  // namespace yoke::layer
