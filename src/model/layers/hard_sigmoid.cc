// The layer `hard_sigmoid`: slope * x + offset clamped to [0, 1], a piecewise linear sigmoid
// (Courbariaux et al., "BinaryConnect", 2015; with the slope 1/6 in MobileNetV3).
#include <algorithm>

#include "model/layers/elementwise.h"

namespace yoke::layer {
namespace {

struct HardSigmoid {
  float slope, offset;
  float Value(float x) const {
    const float y = slope * x + offset;
    return y < 0 ? 0.0F : y > 1 ? 1.0F : y;  // a NaN remains
  }
  float Slope(float x) const {
    const float y = slope * x + offset;
    return y > 0 && y < 1 ? slope : 0.0F;
  }
};

}  // namespace

LayerEntry hard_sigmoid() {
  return {.name = "hard_sigmoid",
          .summary = "slope * x + offset, limited to [0, 1], as in MobileNetV3",
          .options = {{.name = "slope",
                       .type = OptionType::kFloat,
                       .fallback = 1.0 / 6,
                       .help = "Factor on each element."},
                      {.name = "offset",
                       .type = OptionType::kFloat,
                       .fallback = 0.5,
                       .help = "Added to the product."}},
          .make = [](const Options& options, const LayerContext& context) {
            return MakeElementwiseLayer(HardSigmoid{static_cast<float>(options.Float("slope")),
                                                    static_cast<float>(options.Float("offset"))},
                                        "hard_sigmoid", context);
          }};
}

}  // namespace yoke::layer
