// The layer `local_response_norm`: divides each element by a power of the sum of squares over
// neighbouring channels (Krizhevsky et al. 2012).
#include "kernels/local_response_norm/local_response_norm.h"

#include "base/check.h"
#include "base/options.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class LocalResponseNormPlan : public LayerPlan {
 public:
  LocalResponseNormPlan(const LocalResponseNormShape& shape, const PlanRequest& request)
      : kernel_(MakeLocalResponseNorm(shape, request.target)) {
    output = request.input;
    gradient_in_place = 0;
    reads_output = false;
    scratch_bytes = kernel_->scratch_bytes();
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward(
        {.input = call.input.data, .output = call.output.data, .scratch = call.scratch});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.input = call.input.data,
                         .output_gradient = call.output_gradient.data,
                         .input_gradient = call.input_gradient.data,
                         .scratch = call.scratch});
  }

 private:
  std::unique_ptr<LocalResponseNormKernel> kernel_;
};

class LocalResponseNorm : public Layer {
 public:
  LocalResponseNorm(const LocalResponseNormShape& shape, const Shape& image)
      : shape_(shape), image_(image) {}

  Edge Output() const override { return {.shape = image_}; }
  Cost Price(int64_t batch) const override {
    return Elementwise(batch * image_.Count(), 30 + 4 * double(shape_.Window()));
  }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    LocalResponseNormShape shape = shape_;
    shape.batch = request.batch;
    shape.type = request.input.type;
    shape.layout = request.input.layout;
    return std::make_unique<LocalResponseNormPlan>(shape, request);
  }

 private:
  LocalResponseNormShape shape_;  // for one example
  Shape image_;
};

std::unique_ptr<Layer> MakeLocalResponseNormLayer(const Options& options,
                                                  const LayerContext& context) {
  RequireImage(context, "local_response_norm");
  const Shape& in = context.input.shape;
  const int64_t size = options.Int("size");
  Require(size % 2 == 1, "{}: expected an odd number of channels, got {}", options.Where("size"),
          size);
  const LocalResponseNormShape shape{.batch = 1,
                                     .channels = in[0],
                                     .pixels = in[1] * in[2],
                                     .size = size,
                                     .alpha = options.Float("alpha"),
                                     .beta = options.Float("beta"),
                                     .k = options.Float("k")};
  Require(shape.k > 0, "{}: expected a number above 0", options.Where("k"));
  return std::make_unique<LocalResponseNorm>(shape, in);
}

OptionSpec Number(const std::string& name, double fallback, const std::string& help) {
  return {
      .name = name, .type = OptionType::kFloat, .fallback = fallback, .help = help, .minimum = 0};
}

}  // namespace

LayerEntry local_response_norm() {
  return {
      .name = "local_response_norm",
      .summary = "divides each element by a power of the sum of squares in neighbouring channels",
      .options = {{.name = "size",
                   .type = OptionType::kInt,
                   .fallback = 5,
                   .help = "Number of channels in the sum; must be odd.",
                   .minimum = 1,
                   .maximum = kMostPixels},
                  Number("alpha", 1e-4, "Factor on the mean square of these channels."),
                  Number("beta", 0.75, "The exponent."),
                  Number("k", 1, "Added to that product.")},
      .make = MakeLocalResponseNormLayer};
}

}  // namespace yoke::layer
