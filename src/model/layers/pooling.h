// What the layers `max_pool` and `average_pool` have in common: windows of each channel become one
// number.
#pragma once

#include <memory>

#include "kernels/pooling.h"
#include "model/layer.h"

namespace yoke::layer {

/// kernel, stride, padding, ceil_mode; averages also have count_padding.
std::vector<OptionSpec> PoolingOptions(Pooling function);

/// A pooling layer; `type` is its name in messages.
std::unique_ptr<Layer> MakePool(Pooling function, std::string_view type, const Options& options,
                                const LayerContext& context);

}  // namespace yoke::layer
