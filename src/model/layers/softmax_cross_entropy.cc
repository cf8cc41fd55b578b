// The layer `softmax_cross_entropy`: loss of scores against one class, or against 1/|labels| for
// each of several.
#include "model/layers/loss.h"

namespace yoke::layer {

LayerEntry softmax_cross_entropy() {
  return {.name = "softmax_cross_entropy",
          .summary = "loss of scores against one class, or against 1/|labels| for each of several",
          .options = {},
          .make = [](const Options&, const LayerContext& context) {
            return MakeLoss(CrossEntropy::kSoftmax, "softmax_cross_entropy", context);
          }};
}

}  // namespace yoke::layer
