// The layer `batch_norm`: normalizes each channel of an image, or feature of a row, over the batch
// (Ioffe and Szegedy 2015). Absorbs the addition of a residual and a ReLU.
#include "kernels/batch_norm/batch_norm.h"

#include <utility>

#include "base/check.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class BatchNormPlan : public LayerPlan {
 public:
  BatchNormPlan(const BatchNormShape& shape, const PlanRequest& request)
      : kernel_(MakeBatchNorm(shape, request.target)) {
    output = request.input;
    gradient_in_place = shape.add ? 1 : 0;
    adds_gradient = true;
    reads_output = shape.add && shape.relu;
    saved_bytes = shape.training ? 4 * shape.channels * SizeOf(DType::kF32) : 0;
    scratch_bytes = kernel_->scratch_bytes();
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override { kernel_->Forward(Arguments(call)); }
  void Backward(const LayerCall& call) override { kernel_->Backward(Arguments(call)); }

 private:
  static BatchNormCall Arguments(const LayerCall& call) {
    const bool affine = call.params.size() == 4;
    const bool add = !call.others.empty();
    const auto statistics = call.params.last(2);
    return {
        .input = call.input.data,
        .addend = add ? call.others[0].data : nullptr,
        .output = call.output.data,
        .weight = affine ? call.params[0].value.As<float>() : nullptr,
        .bias = affine ? call.params[1].value.As<float>() : nullptr,
        .running_mean = statistics[0].value.As<float>(),
        .running_variance = statistics[1].value.As<float>(),
        .moved_mean = statistics[0].writable,
        .moved_variance = statistics[1].writable,
        .weight_gradient = affine ? call.params[0].gradient : nullptr,
        .bias_gradient = affine ? call.params[1].gradient : nullptr,
        .output_gradient = call.output_gradient.data,
        .more_gradient = call.more_gradient.data,
        .input_gradient = call.input_gradient.data,
        .addend_gradient = call.other_gradients.empty() ? nullptr : call.other_gradients[0].data,
        .saved = static_cast<float*>(call.saved),
        .scratch = call.scratch};
  }

  std::unique_ptr<BatchNormKernel> kernel_;
};

class BatchNorm : public Layer {
 public:
  BatchNorm(const BatchNormShape& shape, bool affine, const LayerContext& context)
      : shape_(shape), affine_(affine), image_(context.input.shape), name_(context.name) {}

  Edge Output() const override { return {.shape = image_}; }

  std::vector<ParamSpec> Params() const override {
    const Shape channels{shape_.channels};
    std::vector<ParamSpec> specs;
    if (affine_) {
      specs.push_back(
          {.name = "weight", .shape = channels, .initializer = "ones", .keep_f32 = true});
      specs.push_back({.name = "bias", .shape = channels, .keep_f32 = true});
    }
    specs.push_back({.name = "running_mean", .shape = channels, .kind = SliceKind::kBuffer});
    specs.push_back({.name = "running_var",
                     .shape = channels,
                     .kind = SliceKind::kBuffer,
                     .initializer = "ones"});
    return specs;
  }

  /// Passes over memory: two reads and a write forward, four reads and a write backward. An
  /// addition reads its other input; with a ReLU, backward reads y and writes a gradient.
  Cost Price(int64_t batch) const override {
    const double elements = double(batch) * double(image_.Count());
    return {.operations = 14 * elements, .bytes = 4 * Passes() * elements};
  }
  double ForwardPart() const override { return (shape_.add ? 4 : 3) / Passes(); }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    Require(!request.training || request.batch * shape_.pixels > 1,
            "layer '{}' (batch_norm) cannot normalize a batch of one example without pixels, whose "
            "variance is 0: choose a batch of two and more that leaves no rest of one example; the "
            "single executor (node.executor) does not divide it",
            name_);
    return ConvertInput(request, {.type = request.input.type, .layout = request.input.layout},
                        [this](const PlanRequest& r) {
                          BatchNormShape shape = shape_;
                          shape.batch = r.batch;
                          shape.type = r.input.type;
                          shape.layout = r.input.layout;
                          shape.training = r.training;
                          return std::make_unique<BatchNormPlan>(shape, r);
                        });
  }

  bool Fuse(Fusion what) override {
    return !shape_.relu && !std::exchange(what == Fusion::kAdd ? shape_.add : shape_.relu, true);
  }

 private:
  double Passes() const { return 8 + (shape_.add ? 2 : 0) + (shape_.add && shape_.relu ? 1 : 0); }

  BatchNormShape shape_;  // for one example
  bool affine_;
  Shape image_;
  std::string name_;
};

std::unique_ptr<Layer> MakeBatchNormLayer(const Options& options, const LayerContext& context) {
  RequireDense(context, "batch_norm");
  const Shape& in = context.input.shape;
  Require(in.rank() == 1 || in.rank() == 3,
          "layer '{}' (batch_norm) needs an image [channels, height, width] or a row of features, "
          "but its input is {}",
          context.name, in.Text());
  const BatchNormShape shape{.batch = 1,
                             .channels = in[0],
                             .pixels = in.rank() == 3 ? in[1] * in[2] : 1,
                             .epsilon = options.Float("epsilon"),
                             .momentum = options.Float("momentum")};
  return std::make_unique<BatchNorm>(shape, options.Bool("affine"), context);
}

}  // namespace

LayerEntry batch_norm() {
  return {.name = "batch_norm",
          .summary = "normalizes each channel over the batch, then scales and shifts it",
          .options = {{.name = "epsilon",
                       .type = OptionType::kFloat,
                       .fallback = 1e-5,
                       .help = "Added to the variance.",
                       .minimum = 0},
                      {.name = "momentum",
                       .type = OptionType::kFloat,
                       .fallback = 0.1,
                       .help = "Weight of the batch in the new running statistics.",
                       .minimum = 0,
                       .maximum = 1},
                      {.name = "affine",
                       .type = OptionType::kBool,
                       .fallback = true,
                       .help = "Whether to apply a weight and a bias."}},
          .make = MakeBatchNormLayer};
}

}  // namespace yoke::layer
