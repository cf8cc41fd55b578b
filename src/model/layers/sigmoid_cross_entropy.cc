// The layer `sigmoid_cross_entropy`: loss of scores against a set of labels, summed over labels.
#include "model/layers/loss.h"

namespace yoke::layer {

LayerEntry sigmoid_cross_entropy() {
  return LossEntry(CrossEntropy::kSigmoid, "sigmoid_cross_entropy",
                   "loss of scores against a set of labels, summed over labels",
                   [](const Options& options, const LayerContext& context) {
                     return MakeLoss(CrossEntropy::kSigmoid, "sigmoid_cross_entropy", options,
                                     context);
                   });
}

}  // namespace yoke::layer
