// The layer `relu`: max(0, x) of each element.
#include "model/layers/activation.h"

namespace yoke::layer {

LayerEntry relu() {
  return {.name = "relu",
          .summary = "max(0, x) of each element",
          .options = {},
          .make =
              [](const Options&, const LayerContext& context) {
                return MakeActivationLayer(Activation::kRelu, "relu", context);
              },
          .fusion = Fusion::kRelu};
}

}  // namespace yoke::layer
