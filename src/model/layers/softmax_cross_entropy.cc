// The layer `softmax_cross_entropy`: loss of scores against one class, or against 1/|labels| for
// each of several.
#include "model/layers/loss.h"

namespace yoke::layer {

LayerEntry softmax_cross_entropy() {
  return LossEntry(CrossEntropy::kSoftmax, "softmax_cross_entropy",
                   "loss of scores against one class, or against 1/|labels| for each of several",
                   [](const Options& options, const LayerContext& context) {
                     return MakeLoss(CrossEntropy::kSoftmax, "softmax_cross_entropy", options,
                                     context);
                   });
}

}  // namespace yoke::layer
