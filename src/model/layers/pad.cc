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
  PadPlan(const PadSettings& settings, const PlanRequest& request) : settings_(settings) {
    output = request.input;
    output.shape = settings.output;
    reads_input = reads_output = false;
    kernel = "loops";
  }
  void Forward(const LayerCall& call) override {
    PadImages(call.input, settings_.border.top, settings_.border.left, settings_.value,
              call.output);
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      CropImages(call.output_gradient, settings_.border.top, settings_.border.left,
                 call.input_gradient);
  }

 private:
  PadSettings settings_;
};

class PadLayer : public Layer {
 public:
  explicit PadLayer(const PadSettings& settings) : settings_(settings) {}

  Shape OutputShape() const override { return settings_.output; }
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
