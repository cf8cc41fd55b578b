// The layer `sigmoid_cross_entropy`: loss of scores against a set of labels, summed over labels.
#include "model/layers/loss.h"

namespace yoke::layer {

LayerEntry sigmoid_cross_entropy() {
  return {.name = "sigmoid_cross_entropy",
          .summary = "loss of scores against a set of labels, summed over labels",
          .options = {},
          .make = [](const Options&, const LayerContext& context) {
            return MakeLoss(CrossEntropy::kSigmoid, "sigmoid_cross_entropy", context);
          }};
}

}  // namespace yoke::layer
