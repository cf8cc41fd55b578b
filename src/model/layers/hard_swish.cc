// The layer `hard_swish`: x * min(max(x + 3, 0), 6) / 6, silu with a piecewise linear sigmoid
// (Howard et al., "Searching for MobileNetV3", 2019).
#include <algorithm>

#include "model/layers/elementwise.h"

namespace yoke::layer {
namespace {

struct HardSwish {
  float Value(float x) const { return x * std::clamp(x + 3, 0.0F, 6.0F) / 6; }
  float Slope(float x) const {
    if (x <= -3) return 0;
    return x >= 3 ? 1 : (2 * x + 3) / 6;
  }
};

}  // namespace

LayerEntry hard_swish() {
  return {.name = "hard_swish",
          .summary = "piecewise approximation of silu, as in MobileNetV3",
          .options = {},
          .make = [](const Options&, const LayerContext& context) {
            return MakeElementwiseLayer(HardSwish{}, "hard_swish", context);
          }};
}

}  // namespace yoke::layer
