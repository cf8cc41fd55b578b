// The layer `gelu`: x * P(X <= x) of the normal distribution, exact or approximated by a hyperbolic
// tangent (Hendrycks and Gimpel 2016).
#include <cmath>
#include <numbers>

#include "kernels/exponential.h"
#include "model/layers/elementwise.h"

namespace yoke::layer {
namespace {

struct Gelu {
  static float Share(float x) { return (1 + std::erf(x / std::numbers::sqrt2_v<float>)) / 2; }
  float Value(float x) const { return x * Share(x); }
  float Slope(float x) const {
    constexpr float kRoot = std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
    return Share(x) + x * kRoot * std::exp(-x * x / 2);
  }
};

/// x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + c x^3), which is x times the sigmoid of 2u.
struct TanhGelu {
  static constexpr float kScale =
      2 * std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;
  static constexpr float kCubic = 0.044715F;
  static float Share(float x) { return 1 / (1 + Exponential(-kScale * (x + kCubic * x * x * x))); }
  float Value(float x) const { return x * Share(x); }
  float Slope(float x) const {
    const float share = Share(x);
    return share + x * share * (1 - share) * kScale * (1 + 3 * kCubic * x * x);
  }
};

std::unique_ptr<Layer> MakeGeluLayer(const Options& options, const LayerContext& context) {
  if (options.String("approximation") == "tanh")
    return MakeElementwiseLayer(TanhGelu{}, "gelu", context);
  return MakeElementwiseLayer(Gelu{}, "gelu", context);
}

}  // namespace

LayerEntry gelu() {
  return {.name = "gelu",
          .summary = "x times the normal distribution function of x",
          .options = {{.name = "approximation",
                       .fallback = "none",
                       .help = "\"tanh\": by a hyperbolic tangent, faster.",
                       .choices = {"none", "tanh"}}},
          .make = MakeGeluLayer};
}

}  // namespace yoke::layer
