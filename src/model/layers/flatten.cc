// The layer `flatten`: an image becomes a row, in the order channels, height, width.
#include "kernels/convert.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

/// Plain input is passed on without a copy.
class SharedPlan : public LayerPlan {
 public:
  explicit SharedPlan(const PlanRequest& request) {
    output = {.shape = {request.input.shape.Count()}, .type = request.input.type};
    output_is_input = true;
    reads_input = reads_output = false;
    kernel = "none";
  }
  void Forward(const LayerCall& /*call*/) override {}
  void Backward(const LayerCall& /*call*/) override {}
};

/// Other layouts are converted.
class ReorderPlan : public LayerPlan {
 public:
  explicit ReorderPlan(const PlanRequest& request)
      : convert_(MakeConvert(request.target)), input_(BatchTensor(request.input, request.batch)) {
    output = {.shape = {request.input.shape.Count()}, .type = request.input.type};
    reads_input = reads_output = false;
    kernel = "reorder";
  }
  void Forward(const LayerCall& call) override {
    convert_->Forward({call.input, As(Layout::kPlain, call.output.data)});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      convert_->Forward({As(Layout::kPlain, call.output_gradient.data),
                         As(input_.layout, call.input_gradient.data)});
  }

 private:
  Tensor As(Layout layout, void* data) const {
    return {.shape = input_.shape, .type = input_.type, .data = data, .layout = layout};
  }
  std::unique_ptr<ConvertKernel> convert_;
  Tensor input_;
};

class Flatten : public Layer {
 public:
  explicit Flatten(const LayerContext& context) : count_(context.input.shape.Count()) {}

  Edge Output() const override { return {.shape = {count_}}; }
  Cost Price(int64_t /*batch*/) const override { return {}; }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    if (request.input.layout == Layout::kPlain) return std::make_unique<SharedPlan>(request);
    return std::make_unique<ReorderPlan>(request);
  }

 private:
  int64_t count_;
};

}  // namespace

LayerEntry flatten() {
  return {.name = "flatten",
          .summary = "an image as a row, in the order channels, height, width",
          .options = {},
          .make = [](const Options&, const LayerContext& context) -> std::unique_ptr<Layer> {
            RequireDense(context, "flatten");
            return std::make_unique<Flatten>(context);
          }};
}

}  // namespace yoke::layer
