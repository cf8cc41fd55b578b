// The layer `max_pool`: the maximum of each window of each channel.
#include "model/layers/pooling.h"

namespace yoke::layer {

LayerEntry max_pool() {
  return {.name = "max_pool",
          .summary = "the maximum of each window of each channel",
          .options = PoolingOptions(Pooling::kMaximum),
          .make = [](const Options& options, const LayerContext& context) {
            return MakePool(Pooling::kMaximum, "max_pool", options, context);
          }};
}

}  // namespace yoke::layer
