// The layer `max_pool`: the largest number of each window, a channel at a time.
#include "model/layers/pooling.h"

namespace yoke::layer {

LayerEntry max_pool() {
  return {.name = "max_pool",
          .summary = "the largest number of each window, a channel at a time",
          .options = PoolingOptions(Pooling::kMaximum),
          .make = [](const Options& options, const LayerContext& context) {
            return MakePool(Pooling::kMaximum, "max_pool", options, context);
          }};
}

}  // namespace yoke::layer
