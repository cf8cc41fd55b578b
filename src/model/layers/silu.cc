// The layer `silu`: x * sigmoid(x), also called swish (Elfwing et al. 2017; Ramachandran et al.
// 2017).
#include "kernels/exponential.h"
#include "model/layers/elementwise.h"

namespace yoke::layer {
namespace {

struct Silu {
  static float Sigmoid(float x) { return 1 / (1 + Exponential(-x)); }
  float Value(float x) const { return x * Sigmoid(x); }
  float Slope(float x) const {
    const float s = Sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};

}  // namespace

LayerEntry silu() {
  return {.name = "silu",
          .summary = "x times its sigmoid",
          .options = {},
          .make = [](const Options&, const LayerContext& context) {
            return MakeElementwiseLayer(Silu{}, "silu", context);
          }};
}

}  // namespace yoke::layer
