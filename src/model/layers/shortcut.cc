// The layer `shortcut`: the parameter-free shortcut of a residual block that changes the size of
// the image (He et al. 2015, option A).
#include "kernels/shortcut.h"

#include "base/check.h"
#include "base/options.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class ShortcutPlan : public LayerPlan {
 public:
  ShortcutPlan(const ShortcutShape& shape, const Target& target)
      : kernel_(MakeShortcut(shape, target)) {
    const Shape out = shape.Output();
    output = {.shape = {out[1], out[2], out[3]}, .type = shape.type, .layout = shape.layout};
    reads_input = reads_output = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.input = call.input.data, .output = call.output.data});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.output_gradient = call.output_gradient.data,
                         .input_gradient = call.input_gradient.data});
  }

 private:
  std::unique_ptr<ShortcutKernel> kernel_;
};

class Shortcut : public Layer {
 public:
  explicit Shortcut(const ShortcutShape& shape) : shape_(shape) {}

  Edge Output() const override {
    const Shape out = shape_.Output();
    return {.shape = {out[1], out[2], out[3]}};
  }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * shape_.Output().Count(), 0);
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    ShortcutShape shape = shape_;
    shape.batch = request.batch;
    shape.type = request.input.type;
    shape.layout = request.input.layout;
    return std::make_unique<ShortcutPlan>(shape, request.target);
  }

 private:
  ShortcutShape shape_;  // for one example
};

std::unique_ptr<Layer> MakeShortcutLayer(const Options& options, const LayerContext& context) {
  RequireImage(context, "shortcut");
  const Shape& in = context.input.shape;
  Require(options.Int("outputs") >= in[0], "{}: expected at least the {} channels of its input",
          options.Where("outputs"), in[0]);
  return std::make_unique<Shortcut>(ShortcutShape{.batch = 1,
                                                  .channels = in[0],
                                                  .height = in[1],
                                                  .width = in[2],
                                                  .outputs = options.Int("outputs"),
                                                  .stride = options.Int("stride")});
}

}  // namespace

LayerEntry shortcut() {
  return {
      .name = "shortcut",
      .summary = "every stride-th pixel, with channels of zeros added (ResNet's option A)",
      .options = {CountOption("outputs", {},
                              "Output channels: at least as many as input channels."),
                  {.name = "stride",
                   .type = OptionType::kInt,
                   .fallback = 1,
                   .help = "Distance between the pixels that are taken, along rows and columns.",
                   .minimum = 1,
                   .maximum = kMostPixels}},
      .make = MakeShortcutLayer};
}

}  // namespace yoke::layer
