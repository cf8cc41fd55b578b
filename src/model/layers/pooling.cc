// The layers `max_pool` and `average_pool`: each window of a channel becomes one element. They keep
// type and layout of their input.
#include <algorithm>

#include "base/check.h"
#include "base/options.h"
#include "kernels/pooling/pooling.h"
#include "model/layers/support.h"
#include "model/layers/window.h"

namespace yoke::layer {
namespace {

class PoolingPlan : public LayerPlan {
 public:
  PoolingPlan(const PoolingShape& shape, const PlanRequest& request)
      : kernel_(MakePooling(shape, request.target)) {
    const Shape out = shape.Output();
    output = {.shape = {out[1], out[2], out[3]}, .type = shape.type, .layout = shape.layout};
    reads_input = reads_output = false;  // the place of each maximum is saved
    saved_bytes = kernel_->saved_bytes();
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.input = call.input.data, .output = call.output.data, .saved = call.saved});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.output_gradient = call.output_gradient.data,
                         .input_gradient = call.input_gradient.data,
                         .saved = call.saved});
  }

 private:
  std::unique_ptr<PoolingKernel> kernel_;
};

class PoolingLayer : public Layer {
 public:
  explicit PoolingLayer(const PoolingShape& shape) : shape_(shape) {}

  Edge Output() const override {
    const Shape out = shape_.Output();
    return {.shape = {out[1], out[2], out[3]}};
  }
  Cost Price(int64_t batch) const override {
    const double taps = double(shape_.rows.size) * double(shape_.columns.size);
    return {.operations = 2.0 * double(batch * Output().shape.Count()) * taps,
            .bytes = 8.0 * double(batch * (shape_.Input().Count() + Output().shape.Count()))};
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
  PoolingShape shape_;  // for one example
};

std::vector<OptionSpec> PoolingOptions(Pooling function) {
  std::vector<OptionSpec> options = {
      AxesOption("kernel", {}, "Size of the window"),
      {.name = "stride",
       .type = OptionType::kInts,
       .help = "Step of the window: one number or [height, width]; the kernel's size unless given.",
       .minimum = 1,
       .maximum = kMostPixels},
      BorderOptionSpec("Border around the image, less than the kernel"),
      {.name = "ceil_mode",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "Whether to include a last window that extends over the edge (as in Caffe)."}};
  if (function == Pooling::kAverage)
    options.push_back(
        {.name = "count_padding",
         .type = OptionType::kBool,
         .fallback = true,
         .help = "Whether padding counts as zeros in the mean; otherwise it is excluded."});
  return options;
}

std::unique_ptr<Layer> MakePool(Pooling function, std::string_view type, const Options& options,
                                const LayerContext& context) {
  RequireImage(context, type);
  WindowPair window = WindowOptions(options);
  window.rows.round_up = window.columns.round_up = options.Bool("ceil_mode");
  const Shape& in = context.input.shape;
  const PoolingShape shape{
      .function = function,
      .batch = 1,
      .channels = in[0],
      .height = in[1],
      .width = in[2],
      .rows = window.rows,
      .columns = window.columns,
      .leaves_out_padding = function == Pooling::kAverage && !options.Bool("count_padding")};
  for (const Window& axis : {window.rows, window.columns})
    Require(std::max(axis.padding, axis.EndPadding()) < axis.size,
            "layer '{}' ({}): padding must be less than the kernel", context.name, type);
  Require(shape.rows.Count(in[1]) > 0 && shape.columns.Count(in[2]) > 0,
          "layer '{}' ({}): a {}x{} window does not fit its input {}", context.name, type,
          window.rows.size, window.columns.size, in.Text());
  return std::make_unique<PoolingLayer>(shape);
}

LayerEntry PoolingEntry(Pooling function, const char* type, const char* summary) {
  return {.name = type,
          .summary = summary,
          .options = PoolingOptions(function),
          .make = [=](const Options& options, const LayerContext& context) {
            return MakePool(function, type, options, context);
          }};
}

}  // namespace

LayerEntry max_pool() {
  return PoolingEntry(Pooling::kMaximum, "max_pool", "the maximum of each window of each channel");
}

LayerEntry average_pool() {
  return PoolingEntry(Pooling::kAverage, "average_pool", "the mean of each window of each channel");
}

}  // namespace yoke::layer
