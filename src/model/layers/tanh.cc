// The layer `tanh`: hyperbolic tangent of each element.
#include "model/layers/activation.h"

namespace yoke::layer {

LayerEntry tanh() {
  return {.name = "tanh",
          .summary = "hyperbolic tangent of each element",
          .options = {},
          .make = [](const Options&, const LayerContext& context) {
            return MakeActivationLayer(Activation::kTanh, "tanh", context);
          }};
}

}  // namespace yoke::layer
