// Functions: activations of one element and their slopes, chosen by a value that all threads share.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace yoke::cuda {

enum class Function : uint8_t {
  kRelu,  // slopes of these three are of the output
  kSigmoid,
  kTanh,
  kLeakyRelu,  // of all others of the input
  kClip,
  kSilu,
  kHardSwish,
  kGelu,
  kTanhGelu,
  kHardSigmoid,
  kNone,
};

/// By the names of the layers' functions; kNone: there is no such one.
inline Function FunctionOf(std::string_view name) {
  return name == "leaky_relu"     ? Function::kLeakyRelu
         : name == "clip"         ? Function::kClip
         : name == "silu"         ? Function::kSilu
         : name == "hard_swish"   ? Function::kHardSwish
         : name == "gelu"         ? Function::kGelu
         : name == "gelu by tanh" ? Function::kTanhGelu
         : name == "hard_sigmoid" ? Function::kHardSigmoid
                                  : Function::kNone;
}

/// `a` and `b`: slope; low and high; slope and offset.
struct ElementFunction {
  Function function = Function::kRelu;
  float a = 0, b = 0;

  static constexpr float kTanhScale = 1.5957691216F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;

  YOKE_HOST_DEVICE static float Sigmoid(float x) { return 1 / (1 + expf(-x)); }
  YOKE_HOST_DEVICE static float NormalShare(float x) { return (1 + erff(x * 0.70710678F)) / 2; }
  YOKE_HOST_DEVICE static float TanhShare(float x) {
    return Sigmoid(kTanhScale * (x + kCubic * x * x * x));
  }

  YOKE_HOST_DEVICE float Value(float x) const {
    switch (function) {
      case Function::kSigmoid:
        return Sigmoid(x);
      case Function::kTanh:
        return tanhf(x);
      case Function::kLeakyRelu:
        return x < 0 ? a * x : x;
      case Function::kClip:
        return x < a ? a : x > b ? b : x;
      case Function::kSilu:
        return x * Sigmoid(x);
      case Function::kHardSwish:
        return x * (x + 3 < 0 ? 0.0F : x + 3 > 6 ? 6.0F : x + 3) / 6;
      case Function::kGelu:
        return x * NormalShare(x);
      case Function::kTanhGelu:
        return x * TanhShare(x);
      case Function::kHardSigmoid: {
        const float y = a * x + b;
        return y < 0 ? 0.0F : y > 1 ? 1.0F : y;
      }
      default:
        return x < 0 ? 0.0F : x;  // a NaN remains
    }
  }

  YOKE_HOST_DEVICE float Slope(float x) const {
    switch (function) {
      case Function::kSigmoid:
        return x * (1 - x);
      case Function::kTanh:
        return 1 - x * x;
      case Function::kLeakyRelu:
        return x > 0 ? 1 : a;
      case Function::kClip:
        return x > a && x < b ? 1.0F : 0.0F;
      case Function::kSilu: {
        const float s = Sigmoid(x);
        return s * (1 + x * (1 - s));
      }
      case Function::kHardSwish:
        return x <= -3 ? 0.0F : x >= 3 ? 1.0F : (2 * x + 3) / 6;
      case Function::kGelu:
        return NormalShare(x) + x * 0.39894228F * expf(-x * x / 2);
      case Function::kTanhGelu: {
        const float share = TanhShare(x);
        return share + x * share * (1 - share) * kTanhScale * (1 + 3 * kCubic * x * x);
      }
      case Function::kHardSigmoid: {
        const float y = a * x + b;
        return y > 0 && y < 1 ? a : 0.0F;
      }
      default:
        return x > 0 ? 1.0F : 0.0F;
    }
  }
};

}  // namespace yoke::cuda
