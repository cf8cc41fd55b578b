// The layer `convolution`: each output pixel is a weighted sum of a window of the input, with the
// same weights everywhere.
#include "kernels/convolution/convolution.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "model/layers/convert_input.h"
#include "model/layers/weighted.h"
#include "model/layers/window.h"

namespace yoke::layer {
namespace {

using ConvolutionPlan = WeightedPlan<ConvolutionKernel, ConvolutionCall>;

class Convolution : public Layer {
 public:
  Convolution(const ConvolutionShape& shape, const Options& options, std::string name)
      : shape_(shape), initializers_(options), name_(std::move(name)) {}

  Edge Output() const override {
    const Shape out = shape_.Output();
    return {.shape = {out[1], out[2], out[3]}};
  }

  std::vector<ParamSpec> Params() const override {
    const Shape weight = shape_.Weight();
    const int64_t taps = weight[2] * weight[3];
    const int64_t fan_in = weight[1] * taps, fan_out = shape_.outputs / shape_.groups * taps;
    return WeightAndBias({.shape = weight, .fan_in = fan_in, .fan_out = fan_out},
                         shape_.bias ? shape_.outputs : 0, initializers_);
  }

  Cost Price(int64_t batch) const override {
    const Shape out = Output().shape, weight = shape_.Weight();
    const double pixels = double(batch) * double(out[1] * out[2]);
    const double image = double(batch) * double(shape_.channels * shape_.height * shape_.width);
    return {.operations = 6 * pixels * double(weight.Count()),
            .bytes = 4 * (3 * double(weight.Count()) + 3 * (image + double(batch * out.Count())))};
  }
  double ForwardPart() const override { return kForwardOfWeighted; }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    ConvolutionShape shape = shape_;
    shape.batch = request.batch;
    shape.type = request.arithmetic;
    shape.training = request.training;
    shape.input_gradient = request.input_gradient;
    Require(shape.algorithm != ConvolutionAlgorithm::kWinograd || FitsWinograd(shape) ||
                shape.type != DType::kF32,
            "layer '{}' (convolution): algorithm \"winograd\" takes 3x3 windows of stride 1, one "
            "group, and "
            "channels in multiples of 16",
            name_);
    const bool lowers = shape.algorithm > ConvolutionAlgorithm::kDirect;
    Require(!lowers || shape.type == DType::kF32,
            "layer '{}' (convolution): algorithm \"{}\" computes in f32 only; with precision = "
            "\"bf16\" "
            "leave it \"auto\" or \"direct\"",
            name_, ConvolutionAlgorithmNames()[static_cast<size_t>(shape.algorithm)]);
    shape.layout = PreferredLayout(shape, request.target);
    return ConvertInput(
        request, {.type = request.arithmetic, .layout = shape.layout}, [&](const PlanRequest& r) {
          return std::make_unique<ConvolutionPlan>(
              MakeConvolution(shape, r.target),
              Edge{.shape = Output().shape, .type = shape.type, .layout = shape.layout},
              shape.relu);
        });
  }

  bool Fuse(Fusion what) override {
    return what == Fusion::kRelu && !std::exchange(shape_.relu, true);
  }

 private:
  ConvolutionShape shape_;  // for one example
  WeightInitializers initializers_;
  std::string name_;
};

ConvolutionAlgorithm AlgorithmOption(const Options& options) {
  const auto& names = ConvolutionAlgorithmNames();
  const auto at = std::find(names.begin(), names.end(), options.String("algorithm"));
  return static_cast<ConvolutionAlgorithm>(at - names.begin());
}

OptionSpec LoweringOption(const char* name, const char* help) {
  return {
      .name = name, .type = OptionType::kInt, .help = help, .minimum = 1, .maximum = kMostCount};
}

int64_t IntOrZero(const Options& options, const char* name) {
  return options.Has(name) ? options.Int(name) : 0;
}

std::unique_ptr<Layer> MakeConvolutionLayer(const Options& options, const LayerContext& context) {
  RequireImage(context, "convolution");
  WindowPair window = WindowOptions(options);
  const Pair dilation = PairOption(options, "dilation", 1);
  window.rows.dilation = dilation.height, window.columns.dilation = dilation.width;
  const Shape& in = context.input.shape;
  const ConvolutionShape shape{.batch = 1,
                               .channels = in[0],
                               .height = in[1],
                               .width = in[2],
                               .outputs = options.Int("outputs"),
                               .groups = options.Int("groups"),
                               .rows = window.rows,
                               .columns = window.columns,
                               .bias = options.Bool("bias"),
                               .algorithm = AlgorithmOption(options),
                               .partitions = IntOrZero(options, "partitions"),
                               .lowered_images = IntOrZero(options, "lowered_images")};
  Require(shape.rows.Count(shape.height) > 0 && shape.columns.Count(shape.width) > 0,
          "layer '{}' (convolution): a {}x{} kernel does not fit its input {} with this padding",
          context.name, window.rows.Span(), window.columns.Span(), in.Text());
  Require(shape.channels % shape.groups == 0 && shape.outputs % shape.groups == 0,
          "layer '{}' (convolution): {} groups must divide {} input and {} output channels",
          context.name, shape.groups, shape.channels, shape.outputs);
  return std::make_unique<Convolution>(shape, options, context.name);
}

}  // namespace

LayerEntry convolution() {
  return {.name = "convolution",
          .summary = "each output pixel is a weighted sum of a window of the input, and a bias",
          .options = WithWeightOptions(
              {CountOption("outputs", {}, "Output channels."),
               AxesOption("kernel", {}, "Size of the window"),
               AxesOption("stride", List{1}, "Step of the window"),
               BorderOptionSpec("Zeros around the image"),
               AxesOption("dilation", List{1}, "From one pixel of the window to the next"),
               CountOption("groups", 1, "Number of independent groups of channels."),
               {.name = "algorithm",
                .fallback = "auto",
                .help = "The algorithm; results differ only by rounding.",
                .choices = ConvolutionAlgorithmNames()},
               LoweringOption("partitions",
                              "With algorithm lower_batch: parts of the batch, each of which a "
                              "thread lowers and multiplies; by default one for each thread."),
               LoweringOption("lowered_images",
                              "With algorithm lower_batch: images of a part that are lowered and "
                              "multiplied together; by default all.")},
              "fan_in_uniform", "fan_in_uniform"),
          .make = MakeConvolutionLayer};
}

}  // namespace yoke::layer
