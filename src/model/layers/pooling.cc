// Pooling layers keep type and layout of their input.
#include "model/layers/pooling.h"

#include "base/check.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class PoolingPlan : public LayerPlan {
 public:
  PoolingPlan(const PoolingShape& shape, const PlanRequest& request)
      : kernel_(MakePooling(shape, request.reference)) {
    const Shape out = shape.Output();
    output = {.shape = {out[1], out[2], out[3]}, .type = shape.type, .layout = shape.layout};
    saved_bytes = kernel_->saved_bytes();
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward(call.input.data, call.output.data, call.saved);
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward(call.output_gradient.data, call.saved, call.input_gradient.data);
  }

 private:
  std::unique_ptr<PoolingKernel> kernel_;
};

class PoolingLayer : public Layer {
 public:
  explicit PoolingLayer(const PoolingShape& shape) : shape_(shape) {}

  Shape OutputShape() const override {
    const Shape out = shape_.Output();
    return {out[1], out[2], out[3]};
  }
  Cost Price(int64_t batch) const override {
    const int64_t taps = shape_.rows.size * shape_.columns.size;
    return {.operations = 2.0 * double(batch * OutputShape().Count() * taps),
            .bytes = 8.0 * double(batch * (shape_.Input().Count() + OutputShape().Count()))};
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    PoolingShape shape = shape_;
    shape.batch = request.batch;
    shape.type = request.input.type;
    shape.layout = request.input.layout;
    shape.training = request.training;
    return std::make_unique<PoolingPlan>(shape, request);
  }

 private:
  PoolingShape shape_;  // of one example
};

}  // namespace

std::vector<OptionSpec> PoolingOptions() {
  return {
      {.name = "kernel",
       .type = OptionType::kInts,
       .help = "Size of the window: one number or [height, width].",
       .required = true},
      {.name = "stride",
       .type = OptionType::kInts,
       .help =
           "Step of the window: one number or [height, width]; the kernel's size unless given."},
      {.name = "padding",
       .type = OptionType::kInts,
       .fallback = List{0},
       .help = "Border around the image, at most half the kernel: one number or [height, width]."},
      {.name = "ceil_mode",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "Whether a last window that hangs over the edge counts (as in Caffe)."}};
}

std::unique_ptr<Layer> MakePool(Pooling function, std::string_view type, const Options& options,
                                const LayerContext& context) {
  RequireImage(context, type);
  const Pair kernel = PairOption(options, "kernel", 1), padding = PairOption(options, "padding", 0);
  const Pair stride = options.Has("stride") ? PairOption(options, "stride", 1) : kernel;
  const bool ceil = options.Bool("ceil_mode");
  const Shape& in = context.input.shape;
  const PoolingShape shape{.function = function,
                           .batch = 1,
                           .channels = in[0],
                           .height = in[1],
                           .width = in[2],
                           .rows = {kernel.height, stride.height, padding.height, ceil},
                           .columns = {kernel.width, stride.width, padding.width, ceil}};
  Require(2 * padding.height <= kernel.height && 2 * padding.width <= kernel.width,
          "layer '{}' ({}): padding must be at most half the kernel", context.name, type);
  Require(shape.rows.Count(in[1]) > 0 && shape.columns.Count(in[2]) > 0,
          "layer '{}' ({}): a {}x{} window does not fit its input {}", context.name, type,
          kernel.height, kernel.width, in.Text());
  return std::make_unique<PoolingLayer>(shape);
}

}  // namespace yoke::layer
