// WeighLoss: wraps the plan of a loss.
#include "model/layers/weighted_loss.h"

#include <utility>

#include "kernels/vectors.h"
#include "kernels/weigh_rows.h"
#include "model/layers/wrapped_plan.h"

namespace yoke::layer {
namespace {

class WeightedLossPlan : public WrappedPlan {
 public:
  WeightedLossPlan(std::unique_ptr<LayerPlan> plan, double weight, const Target& target)
      : WrappedPlan(std::move(plan)),
        scale_(MakeVectors(target)),
        rows_(MakeWeighRows(target)),
        weight_(static_cast<float>(weight)) {}
  void CheckBatch(const Batch& batch) const override {
    Check(batch.weights.empty() || std::ssize(batch.weights) == batch.size,
          "weights do not match the number of examples");
    plan().CheckBatch(batch);
  }
  void Forward(const LayerCall& call) override {
    plan().Forward(call);
    Weigh(call, call.output);
  }
  void Backward(const LayerCall& call) override {
    plan().Backward(call);
    if (call.input_gradient.data) Weigh(call, call.input_gradient);
  }

 private:
  void Weigh(const LayerCall& call, const Tensor& values) const {
    if (weight_ != 1)
      scale_->Forward({.operation = VectorCall::Operation::kScale,
                       .y = values.As<float>(),
                       .a = weight_,
                       .count = values.Count()});
    if (call.labels.weights)
      rows_->Forward({.values = values.As<float>(),
                      .weights = call.labels.weights,
                      .rows = call.batch.size,
                      .width = values.Count() / call.batch.size});
  }

  std::unique_ptr<Kernel<VectorCall>> scale_;
  std::unique_ptr<Kernel<WeighRowsCall>> rows_;
  float weight_;
};

}  // namespace

OptionSpec LossWeightOption() {
  return {.name = "weight",
          .type = OptionType::kFloat,
          .fallback = 1.0,
          .help = "Factor on the loss (for auxiliary heads).",
          .minimum = 0};
}

std::unique_ptr<LayerPlan> WeighLoss(std::unique_ptr<LayerPlan> plan, double weight,
                                     const Target& target) {
  return std::make_unique<WeightedLossPlan>(std::move(plan), weight, target);
}

}  // namespace yoke::layer
