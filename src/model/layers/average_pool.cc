// The layer `average_pool`: the mean of each window of each channel.
#include "model/layers/pooling.h"

namespace yoke::layer {

LayerEntry average_pool() {
  return {.name = "average_pool",
          .summary = "the mean of each window of each channel",
          .options = PoolingOptions(Pooling::kAverage),
          .make = [](const Options& options, const LayerContext& context) {
            return MakePool(Pooling::kAverage, "average_pool", options, context);
          }};
}

}  // namespace yoke::layer
