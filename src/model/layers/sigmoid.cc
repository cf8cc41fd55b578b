// The layer `sigmoid`: 1 / (1 + exp(-x)) of each element.
#include "model/layers/activation.h"

namespace yoke::layer {

LayerEntry sigmoid() {
  return {.name = "sigmoid",
          .summary = "1 / (1 + exp(-x)) of each element",
          .options = {},
          .make = [](const Options&, const LayerContext& context) {
            return MakeActivationLayer(Activation::kSigmoid, "sigmoid", context);
          }};
}

}  // namespace yoke::layer
