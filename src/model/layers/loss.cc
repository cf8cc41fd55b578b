// Losses: the scores are read as f32, whatever the arithmetic below.
#include "model/layers/loss.h"

#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class LossPlan : public LayerPlan {
 public:
  LossPlan(const CrossEntropyShape& shape, bool reference)
      : shape_(shape), kernel_(MakeCrossEntropy(shape, reference)) {
    output = {.shape = {1}};
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    CheckLabels(call.batch, shape_);
    kernel_->Forward(call.input.As<float>(), call.batch, call.output.As<float>());
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward(call.input.As<float>(), call.batch, call.input_gradient.As<float>());
  }

 private:
  CrossEntropyShape shape_;
  std::unique_ptr<CrossEntropyKernel> kernel_;
};

class Loss : public Layer {
 public:
  Loss(CrossEntropy function, const LayerContext& context)
      : function_(function), outputs_(context.input.shape.Count()) {}

  Shape OutputShape() const override { return {1}; }
  bool IsLoss() const override { return true; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * outputs_, 40); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return ConvertInput(request, {}, [this](const PlanRequest& r) {
      return std::make_unique<LossPlan>(
          CrossEntropyShape{.function = function_, .batch = r.batch, .outputs = outputs_},
          r.reference);
    });
  }

 private:
  CrossEntropy function_;
  int64_t outputs_;
};

}  // namespace

std::unique_ptr<Layer> MakeLoss(CrossEntropy function, std::string_view type,
                                const LayerContext& context) {
  RequireDense(context, type);
  return std::make_unique<Loss>(function, context);
}

}  // namespace yoke::layer
