// Activations: layers that apply a function to each element.
//   relu: max(0, x)
//   leaky_relu: x, or slope * x for negative x
//   clip: min(max(x, minimum), maximum); from 0 to 6 it is ReLU6
//   silu: x * sigmoid(x), also called swish
//   hard_swish: x * min(max(x + 3, 0), 6) / 6, silu with a piecewise linear sigmoid
//   gelu: x * P(X <= x) of the normal distribution, exact or approximated by tanh
//   sigmoid: 1 / (1 + exp(-x))
//   hard_sigmoid: slope * x + offset clamped to [0, 1], a piecewise linear sigmoid
//   tanh: hyperbolic tangent
// The derivative of relu, sigmoid and tanh follows from the output; of the others from the input.
//
// Papers:
//   leaky_relu: Maas, Hannun, Ng (2013)
//   silu: Elfwing, Uchibe, Doya (2017); Ramachandran, Zoph, Le (2017)
//   hard_swish: Howard et al., "Searching for MobileNetV3" (2019)
//   gelu: Hendrycks, Gimpel (2016)
//   hard_sigmoid: Courbariaux et al., "BinaryConnect" (2015); MobileNetV3 has the slope 1/6
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "kernels/activation/activation.h"
#include "kernels/elementwise.h"
#include "kernels/exponential.h"
#include "model/layers/activations.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class ActivationPlan : public LayerPlan {
 public:
  ActivationPlan(const ActivationShape& shape, const PlanRequest& request)
      : kernel_(MakeActivation(shape, request.target)) {
    output = request.input;
    gradient_in_place = 0;
    reads_input = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.input = call.input.data, .output = call.output.data});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.output = call.output.data,
                         .output_gradient = call.output_gradient.data,
                         .input_gradient = call.input_gradient.data});
  }

 private:
  std::unique_ptr<ActivationKernel> kernel_;
};

class ActivationLayer : public Layer {
 public:
  ActivationLayer(Activation function, const LayerContext& context)
      : function_(function), shape_(context.input.shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * shape_.Count(), function_ == Activation::kRelu ? 2 : 20);
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    const ActivationShape shape{
        .function = function_, .count = request.batch * shape_.Count(), .type = request.input.type};
    return std::make_unique<ActivationPlan>(shape, request);
  }

 private:
  Activation function_;
  Shape shape_;
};

/// A layer for `Function`, which has `float Value(float x) const` and the derivative `float
/// Slope(float x) const`.
template <typename Function>
class ElementwiseLayer : public Layer {
 public:
  ElementwiseLayer(Function function, const Shape& shape) : function_(function), shape_(shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override {
    constexpr double kOperations = 20;
    return Elementwise(batch * shape_.Count(), kOperations);
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<ElementwisePlan>(function_, request);
  }

 private:
  class ElementwisePlan : public LayerPlan {
   public:
    ElementwisePlan(Function function, const PlanRequest& request)
        : kernel_(MakeElementwise(function, request.target)) {
      output = request.input;
      gradient_in_place = 0;
      reads_output = false;
      kernel = kernel_->name();
    }
    void Forward(const LayerCall& call) override {
      kernel_->Forward({.input = call.input, .output = call.output});
    }
    void Backward(const LayerCall& call) override {
      if (call.input_gradient.data)
        kernel_->Backward({.input = call.input,
                           .output_gradient = call.output_gradient,
                           .input_gradient = call.input_gradient});
    }

   private:
    std::unique_ptr<ElementwiseKernel> kernel_;
  };

  Function function_;
  Shape shape_;
};

/// The layer of `function`; `type` is its name in messages.
template <typename Function>
std::unique_ptr<Layer> MakeElementwiseLayer(Function function, std::string_view type,
                                            const LayerContext& context) {
  RequireDense(context, type);
  return std::make_unique<ElementwiseLayer<Function>>(function, context.input.shape);
}

struct LeakyRelu {
  static constexpr const char* kName = "leaky_relu";
  float slope;
  float Value(float x) const { return x < 0 ? slope * x : x; }
  float Slope(float x) const { return x > 0 ? 1 : slope; }
};

struct Clip {
  static constexpr const char* kName = "clip";
  float low, high;
  float Value(float x) const { return x < low ? low : x > high ? high : x; }
  float Slope(float x) const { return x > low && x < high ? 1.0F : 0.0F; }
};

struct Silu {
  static constexpr const char* kName = "silu";
  static float Sigmoid(float x) { return 1 / (1 + Exponential(-x)); }
  float Value(float x) const { return x * Sigmoid(x); }
  float Slope(float x) const {
    const float s = Sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};

struct HardSwish {
  static constexpr const char* kName = "hard_swish";
  float Value(float x) const { return x * std::clamp(x + 3, 0.0F, 6.0F) / 6; }
  float Slope(float x) const {
    if (x <= -3) return 0;
    return x >= 3 ? 1 : (2 * x + 3) / 6;
  }
};

struct Gelu {
  static constexpr const char* kName = "gelu";
  static float Share(float x) { return (1 + std::erf(x / std::numbers::sqrt2_v<float>)) / 2; }
  float Value(float x) const { return x * Share(x); }
  float Slope(float x) const {
    constexpr float kRoot = std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
    return Share(x) + x * kRoot * std::exp(-x * x / 2);
  }
};

/// x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + c x^3), which is x times the sigmoid of 2u.
struct TanhGelu {
  static constexpr const char* kName = "gelu by tanh";
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

struct HardSigmoid {
  static constexpr const char* kName = "hard_sigmoid";
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

/// A layer without options whose derivative follows from the output.
LayerEntry FromOutput(const char* type, const char* summary, Activation function) {
  return {.name = type,
          .summary = summary,
          .options = {},
          .make = [=](const Options&, const LayerContext& context) -> std::unique_ptr<Layer> {
            RequireDense(context, type);
            return std::make_unique<ActivationLayer>(function, context);
          }};
}

/// A layer without options whose derivative follows from the input.
template <typename Function>
LayerEntry FromInput(const char* type, const char* summary, Function function) {
  return {.name = type,
          .summary = summary,
          .options = {},
          .make = [=](const Options&, const LayerContext& context) {
            return MakeElementwiseLayer(function, type, context);
          }};
}

OptionSpec NumberOption(const char* name, double fallback, const char* help) {
  return {.name = name, .type = OptionType::kFloat, .fallback = fallback, .help = help};
}

float Number(const Options& options, const char* name) {
  return static_cast<float>(options.Float(name));
}

}  // namespace

std::vector<const OperationEntry*> ActivationOperations() {
  return {&kElementwise<Clip>,     &kElementwise<Gelu>,      &kElementwise<TanhGelu>,
          &kElementwise<Silu>,     &kElementwise<HardSwish>, &kElementwise<HardSigmoid>,
          &kElementwise<LeakyRelu>};
}

LayerEntry relu() {
  LayerEntry entry = FromOutput("relu", "max(0, x) of each element", Activation::kRelu);
  entry.fusion = Fusion::kRelu;
  return entry;
}

LayerEntry sigmoid() {
  return FromOutput("sigmoid", "1 / (1 + exp(-x)) of each element", Activation::kSigmoid);
}

LayerEntry tanh() {
  return FromOutput("tanh", "hyperbolic tangent of each element", Activation::kTanh);
}

LayerEntry silu() { return FromInput("silu", "x times its sigmoid", Silu{}); }

LayerEntry hard_swish() {
  return FromInput("hard_swish", "piecewise approximation of silu, as in MobileNetV3", HardSwish{});
}

LayerEntry leaky_relu() {
  return {.name = "leaky_relu",
          .summary = "multiplies negative elements by a small slope",
          .options = {NumberOption("slope", 0.01, "Factor on negative elements.")},
          .make = [](const Options& options, const LayerContext& context) {
            return MakeElementwiseLayer(LeakyRelu{Number(options, "slope")}, "leaky_relu", context);
          }};
}

LayerEntry clip() {
  return {.name = "clip",
          .summary = "limits each element to bounds (0 and 6: ReLU6)",
          .options = {NumberOption("minimum", 0, "The lower bound."),
                      NumberOption("maximum", 6, "The upper bound.")},
          .make = [](const Options& options, const LayerContext& context) {
            const Clip bounds{Number(options, "minimum"), Number(options, "maximum")};
            Require(bounds.low < bounds.high, "{}: expected more than minimum",
                    options.Where("maximum"));
            return MakeElementwiseLayer(bounds, "clip", context);
          }};
}

LayerEntry hard_sigmoid() {
  return {.name = "hard_sigmoid",
          .summary = "slope * x + offset, limited to [0, 1], as in MobileNetV3",
          .options = {NumberOption("slope", 1.0 / 6, "Factor on each element."),
                      NumberOption("offset", 0.5, "Added to the product.")},
          .make = [](const Options& options, const LayerContext& context) {
            return MakeElementwiseLayer(
                HardSigmoid{Number(options, "slope"), Number(options, "offset")}, "hard_sigmoid",
                context);
          }};
}

LayerEntry gelu() {
  return {.name = "gelu",
          .summary = "x times the normal distribution function of x",
          .options = {{.name = "approximation",
                       .fallback = "none",
                       .help = "\"tanh\": by a hyperbolic tangent, faster.",
                       .choices = {"none", "tanh"}}},
          .make = [](const Options& options, const LayerContext& context) {
            return options.String("approximation") == "tanh"
                       ? MakeElementwiseLayer(TanhGelu{}, "gelu", context)
                       : MakeElementwiseLayer(Gelu{}, "gelu", context);
          }};
}

}  // namespace yoke::layer
