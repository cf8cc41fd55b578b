// The layer `clip`: clamps each element; from 0 to 6 it is ReLU6.
#include "base/check.h"
#include "model/layers/elementwise.h"

namespace yoke::layer {
namespace {

struct Clip {
  float low, high;
  float Value(float x) const { return x < low ? low : x > high ? high : x; }
  float Slope(float x) const { return x > low && x < high ? 1.0F : 0.0F; }
};

}  // namespace

LayerEntry clip() {
  return {.name = "clip",
          .summary = "limits each element to bounds (0 and 6: ReLU6)",
          .options = {{.name = "minimum",
                       .type = OptionType::kFloat,
                       .fallback = 0.0,
                       .help = "The lower bound."},
                      {.name = "maximum",
                       .type = OptionType::kFloat,
                       .fallback = 6.0,
                       .help = "The upper bound."}},
          .make = [](const Options& options, const LayerContext& context) {
            const Clip bounds{static_cast<float>(options.Float("minimum")),
                              static_cast<float>(options.Float("maximum"))};
            Require(bounds.low < bounds.high, "{}: expected more than minimum",
                    options.Where("maximum"));
            return MakeElementwiseLayer(bounds, "clip", context);
          }};
}

}  // namespace yoke::layer
