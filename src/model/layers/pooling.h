// Common implementation of `max_pool` and `average_pool`: each window of a channel becomes one
// element.
#pragma once

#include <memory>

#include "kernels/pooling/pooling.h"
#include "model/layer.h"

namespace yoke::layer {

/// Options: kernel, stride, padding, ceil_mode; for averages also count_padding.
std::vector<OptionSpec> PoolingOptions(Pooling function);

/// A pooling layer; `type` is its name in messages.
std::unique_ptr<Layer> MakePool(Pooling function, std::string_view type, const Options& options,
                                const LayerContext& context);

}  // namespace yoke::layer
