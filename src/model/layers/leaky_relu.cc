// The layer `leaky_relu`: x, or slope * x for negative x (Maas et al. 2013).
#include "model/layers/elementwise.h"

namespace yoke::layer {
namespace {

struct LeakyRelu {
  float slope;
  float Value(float x) const { return x < 0 ? slope * x : x; }
  float Slope(float x) const { return x > 0 ? 1 : slope; }
};

}  // namespace

LayerEntry leaky_relu() {
  return {.name = "leaky_relu",
          .summary = "multiplies negative elements by a small slope",
          .options = {{.name = "slope",
                       .type = OptionType::kFloat,
                       .fallback = 0.01,
                       .help = "Factor on negative elements."}},
          .make = [](const Options& options, const LayerContext& context) {
            return MakeElementwiseLayer(LeakyRelu{static_cast<float>(options.Float("slope"))},
                                        "leaky_relu", context);
          }};
}

}  // namespace yoke::layer
