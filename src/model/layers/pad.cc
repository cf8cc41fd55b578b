// The layer `pad`: adds a constant border to an image.
#include "base/check.h"
#include "kernels/rearrange.h"
#include "model/layers/window.h"

namespace yoke::layer {
namespace {

struct PadSettings {
  Border border;
  float value = 0;
  Shape output;
};

class PadPlan : public LayerPlan {
 public:
  PadPlan(const PadSettings& settings, const PlanRequest& request)
      : kernel_(MakePad(
            {.top = settings.border.top, .left = settings.border.left, .value = settings.value},
            request.target)) {
    output = request.input;
    output.shape = settings.output;
    reads_input = reads_output = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.image = call.input, .padded = call.output});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.image = call.input_gradient, .padded = call.output_gradient});
  }

 private:
  std::unique_ptr<PadKernel> kernel_;
};

class PadLayer : public Layer {
 public:
  explicit PadLayer(const PadSettings& settings) : settings_(settings) {}

  Edge Output() const override { return {.shape = settings_.output}; }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * settings_.output.Count(), 0);
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<PadPlan>(settings_, request);
  }

 private:
  PadSettings settings_;
};

std::unique_ptr<Layer> MakePadLayer(const Options& options, const LayerContext& context) {
  RequireImage(context, "pad");
  const Shape& in = context.input.shape;
  const Border border = BorderOption(options);
  return std::make_unique<PadLayer>(PadSettings{
      .border = border,
      .value = static_cast<float>(options.Float("value")),
      .output = {in[0], border.top + in[1] + border.bottom, border.left + in[2] + border.right}});
}

}  // namespace

LayerEntry pad() {
  return {.name = "pad",
          .summary = "adds a border of zeros or another value to an image",
          .options = {BorderOptionSpec("Pixels around the image"),
                      {.name = "value",
                       .type = OptionType::kFloat,
                       .fallback = 0.0,
                       .help = "Value of the border."}},
          .make = MakePadLayer};
}

}  // namespace yoke::layer
