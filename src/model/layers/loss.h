// Common implementation of the losses: from scores and labels to one value per example.
#pragma once

#include <memory>

#include "kernels/cross_entropy/cross_entropy.h"
#include "model/layer.h"

namespace yoke::layer {

/// The entry of a loss layer. Backward takes no output gradient: it writes the gradient of the mean
/// loss.
LayerEntry LossEntry(CrossEntropy function, const char* type, const char* summary,
                     std::unique_ptr<Layer> (*make)(const Options&, const LayerContext&));

/// A loss layer; `type` is its name in messages.
std::unique_ptr<Layer> MakeLoss(CrossEntropy function, std::string_view type,
                                const Options& options, const LayerContext& context);

}  // namespace yoke::layer
