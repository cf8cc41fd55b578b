// The losses `mean_squared_error`, `mean_absolute_error`, `huber` and `quantile`: from scores and
// target numbers to one value per example. Scores are f32 whatever the arithmetic of the model.
#include <utility>

#include "base/check.h"
#include "kernels/losses.h"
#include "model/layers/convert_input.h"
#include "model/layers/shaped_loss.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class RegressionLossPlan : public LayerPlan {
 public:
  RegressionLossPlan(const RegressionLossShape& shape, const Target& target)
      : shape_(shape), kernel_(MakeRegressionLoss(shape, target)) {
    output = {.shape = {1}};
    reads_output = false;
    kernel = kernel_->name();
  }
  void CheckBatch(const Batch& batch) const override {
    Check(std::ssize(batch.targets) == shape_.batch * shape_.outputs,
          "a regression loss needs a number for each output of each example");
  }
  void Forward(const LayerCall& call) override {
    kernel_->Forward({.scores = call.input.As<float>(),
                      .targets = call.labels.targets,
                      .losses = call.output.As<float>()});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.scores = call.input.As<float>(),
                         .targets = call.labels.targets,
                         .gradient = call.input_gradient.As<float>()});
  }

 private:
  RegressionLossShape shape_;
  std::unique_ptr<Kernel<RegressionLossCall>> kernel_;
};

class RegressionLossLayer : public Layer {
 public:
  /// `shape` lacks the batch.
  RegressionLossLayer(const RegressionLossShape& shape, double weight)
      : shape_(shape), weight_(weight) {}

  Edge Output() const override { return {.shape = {1}}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * shape_.outputs, 8); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return ConvertInput(request, {}, [this](const PlanRequest& r) {
      RegressionLossShape shape = shape_;
      shape.batch = r.batch;
      return WeighLoss(std::make_unique<RegressionLossPlan>(shape, r.target), weight_, r.target);
    });
  }

 private:
  RegressionLossShape shape_;
  double weight_;
};

/// `parameter`: the option that the loss has besides its weight.
LayerEntry RegressionEntry(RegressionLoss function, const char* type, const char* summary,
                           const std::vector<OptionSpec>& parameter = {}) {
  std::vector<OptionSpec> options = parameter;
  options.push_back(LossWeightOption());
  const auto make = [=](const Options& given, const LayerContext& context) {
    Require(!context.input.active,
            "layer '{}' ({}): an lsh_linear layer learns classes or labels, not numbers",
            context.name, type);
    RequireDense(context, type);
    return std::make_unique<RegressionLossLayer>(
        RegressionLossShape{.function = function,
                            .parameter = parameter.empty() ? 0 : given.Float(parameter[0].name),
                            .outputs = context.input.shape.Count()},
        given.Float("weight"));
  };
  return {.name = type,
          .summary = summary,
          .options = std::move(options),
          .make = make,
          .loss = function};
}

}  // namespace

LayerEntry mean_squared_error() {
  return RegressionEntry(RegressionLoss::kSquared, "mean_squared_error",
                         "loss of scores against numbers: the mean of squared errors");
}

LayerEntry mean_absolute_error() {
  return RegressionEntry(RegressionLoss::kAbsolute, "mean_absolute_error",
                         "loss of scores against numbers: the mean of absolute errors");
}

LayerEntry huber() {
  return RegressionEntry(
      RegressionLoss::kHuber, "huber",
      "loss of scores against numbers: squared where the error is small, else absolute",
      {{.name = "delta",
        .type = OptionType::kFloat,
        .fallback = 1.0,
        .help = "Error from which the loss is linear, in standard deviations of the target.",
        .minimum = 0,
        .exclusive_minimum = true}});
}

LayerEntry quantile() {
  return RegressionEntry(RegressionLoss::kQuantile, "quantile",
                         "loss of scores against numbers whose best score is their quantile",
                         {{.name = "level",
                           .type = OptionType::kFloat,
                           .fallback = 0.5,
                           .help = "The fraction of targets that lie below the best score.",
                           .minimum = 0,
                           .maximum = 1,
                           .exclusive_minimum = true,
                           .exclusive_maximum = true}});
}

}  // namespace yoke::layer
