// The layer `global_average_pool`: the mean of each channel of an image.
#include "kernels/pooling/pooling.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class GlobalAveragePlan : public LayerPlan {
 public:
  GlobalAveragePlan(const PlanRequest& request, const Shape& shape)
      : kernel_(MakeGlobalAverage(request.target)) {
    output = {.shape = shape, .type = request.input.type};
    if (shape.rank() == 3) output.layout = request.input.layout;
    reads_input = reads_output = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.image = call.input, .average = call.output});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.image = call.input_gradient, .average = call.output_gradient});
  }

 private:
  std::unique_ptr<GlobalAverageKernel> kernel_;
};

class GlobalAverage : public Layer {
 public:
  GlobalAverage(const Shape& shape, bool keep_axes) : shape_(shape), keep_axes_(keep_axes) {}

  Edge Output() const override {
    return {.shape = keep_axes_ ? Shape{shape_[0], 1, 1} : Shape{shape_[0]}};
  }
  Cost Price(int64_t batch) const override {
    const double elements = double(batch) * double(shape_.Count());
    return {.operations = 2 * elements, .bytes = 8 * elements};
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<GlobalAveragePlan>(request, Output().shape);
  }

 private:
  Shape shape_;
  bool keep_axes_;
};

}  // namespace

LayerEntry global_average_pool() {
  return {
      .name = "global_average_pool",
      .summary = "the mean of each channel over the whole image",
      .options = {{.name = "keep_axes",
                   .type = OptionType::kBool,
                   .fallback = false,
                   .help = "Whether the output is an image of one pixel instead of a row."}},
      .make = [](const Options& options, const LayerContext& context) -> std::unique_ptr<Layer> {
        RequireImage(context, "global_average_pool");
        return std::make_unique<GlobalAverage>(context.input.shape, options.Bool("keep_axes"));
      }};
}

}  // namespace yoke::layer
