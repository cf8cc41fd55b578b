// The layer `layer_norm`: normalizes each example, or each pixel over its channels (Ba,
// Kiros and Hinton 2016).
#include "kernels/layer_norm.h"

#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class LayerNormPlan : public LayerPlan {
 public:
  LayerNormPlan(const LayerNormShape& shape, const PlanRequest& request)
      : kernel_(MakeLayerNorm(shape, request.target)) {
    output = request.input;
    gradient_in_place = 0;
    reads_output = false;
    saved_bytes = request.training ? 2 * shape.rows * SizeOf(DType::kF32) : 0;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override { kernel_->Forward(Arguments(call)); }
  void Backward(const LayerCall& call) override { kernel_->Backward(Arguments(call)); }

 private:
  static LayerNormCall Arguments(const LayerCall& call) {
    const bool affine = !call.params.empty();
    return {.input = call.input.data,
            .output = call.output.data,
            .weight = affine ? call.params[0].value.As<float>() : nullptr,
            .bias = affine ? call.params[1].value.As<float>() : nullptr,
            .saved = static_cast<float*>(call.saved),
            .weight_gradient = affine ? call.params[0].gradient : nullptr,
            .bias_gradient = affine ? call.params[1].gradient : nullptr,
            .output_gradient = call.output_gradient.data,
            .input_gradient = call.input_gradient.data};
  }

  std::unique_ptr<LayerNormKernel> kernel_;
};

class LayerNormLayer : public Layer {
 public:
  LayerNormLayer(const Options& options, const Shape& input)
      : input_(input),
        together_(options.String("over") == "channels" ? Shape{input[0]} : input),
        epsilon_(options.Float("epsilon")),
        affine_(options.Bool("affine")) {}

  Edge Output() const override { return {.shape = input_}; }

  std::vector<ParamSpec> Params() const override {
    if (!affine_) return {};
    return {{.name = "weight", .shape = together_, .initializer = "ones", .keep_f32 = true},
            {.name = "bias", .shape = together_, .keep_f32 = true}};
  }

  Cost Price(int64_t batch) const override { return Elementwise(batch * input_.Count(), 16); }

  /// Elements that are normalized together must be contiguous: channels last if a pixel's channels
  /// are normalized.
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    const bool all = together_.rank() == input_.rank();
    const Layout layout = all ? Layout::kPlain : Layout::kChannelsLast;
    return ConvertInput(request, {.type = request.input.type, .layout = layout},
                        [this](const PlanRequest& r) {
                          const int64_t columns = together_.Count();
                          return std::make_unique<LayerNormPlan>(
                              LayerNormShape{.rows = r.batch * (input_.Count() / columns),
                                             .columns = columns,
                                             .type = r.input.type,
                                             .epsilon = epsilon_},
                              r);
                        });
  }

 private:
  Shape input_;
  Shape together_;  ///< Shape of the elements normalized together.
  double epsilon_;
  bool affine_;
};

std::unique_ptr<Layer> MakeLayerNormLayer(const Options& options, const LayerContext& context) {
  RequireDense(context, "layer_norm");
  if (options.String("over") == "channels" && context.input.shape.rank() > 1)
    RequireImage(context, "layer_norm");
  return std::make_unique<LayerNormLayer>(options, context.input.shape);
}

}  // namespace

LayerEntry layer_norm() {
  return {.name = "layer_norm",
          .summary = "normalizes each example, or each pixel over its channels",
          .options = {{.name = "over",
                       .fallback = "example",
                       .help = "What is normalized together: all elements of an example, or the "
                               "channels of a pixel.",
                       .choices = {"example", "channels"}},
                      {.name = "epsilon",
                       .type = OptionType::kFloat,
                       .fallback = 1e-5,
                       .help = "Added to the variance.",
                       .minimum = 0},
                      {.name = "affine",
                       .type = OptionType::kBool,
                       .fallback = true,
                       .help = "Whether to apply a weight and a bias."}},
          .make = MakeLayerNormLayer};
}

}  // namespace yoke::layer
