// ShapedLoss: with s the scores, c the class, K classes and cross-entropy H, the loss is
//   w_c * (H + smoothing * (s_c - mean of s)),
// and its gradient w_c * (softmax(s) - (1 - smoothing) [o = c] - smoothing / K) over the batch.
#include "model/layers/shaped_loss.h"

#include <numeric>
#include <utility>

#include "base/check.h"
#include "kernels/losses.h"
#include "kernels/vectors.h"

namespace yoke::layer {
namespace {

/// A plan that adds something to what another computes, with its memory and output.
class WrappedPlan : public LayerPlan {
 public:
  explicit WrappedPlan(std::unique_ptr<LayerPlan> plan) : plan_(std::move(plan)) {
    output = plan_->output;
    saved_bytes = plan_->saved_bytes;
    scratch_bytes = plan_->scratch_bytes;
    reads_input = plan_->reads_input;
    reads_output = plan_->reads_output;
    kernel = plan_->kernel;
  }

 protected:
  LayerPlan& plan() const { return *plan_; }

 private:
  std::unique_ptr<LayerPlan> plan_;
};

class ShapedLossPlan : public WrappedPlan {
 public:
  ShapedLossPlan(std::unique_ptr<LayerPlan> plan, const CrossEntropyShape& shape,
                 LossShaping shaping)
      : WrappedPlan(std::move(plan)), shape_(shape), shaping_(std::move(shaping)) {}

  void CheckBatch(const Batch& batch) const override {
    plan().CheckBatch(batch);
    Check(!batch.classes.empty(), "a shaped loss is one of classes");
  }

  void Forward(const LayerCall& call) override {
    plan().Forward(call);
    float* const losses = call.output.As<float>();
#pragma omp parallel for schedule(static) if (IsLarge())
    for (int64_t n = 0; n < shape_.batch; ++n) {
      const float* const scores = call.input.As<float>() + n * shape_.outputs;
      const int32_t c = call.labels.classes[n];
      const double mean = std::accumulate(scores, scores + shape_.outputs, 0.0) / Outputs();
      losses[n] =
          static_cast<float>(WeightOf(c) * (losses[n] + shaping_.smoothing * (scores[c] - mean)));
    }
  }

  void Backward(const LayerCall& call) override {
    if (!call.input_gradient.data) return;
    plan().Backward(call);
    const double smoothed = shaping_.smoothing / static_cast<double>(shape_.MeanOver());
    const auto each = static_cast<float>(smoothed / Outputs());
#pragma omp parallel for schedule(static) if (IsLarge())
    for (int64_t n = 0; n < shape_.batch; ++n) {
      float* const gradient = call.input_gradient.As<float>() + n * shape_.outputs;
      const int32_t c = call.labels.classes[n];
      const auto weight = static_cast<float>(WeightOf(c));
      gradient[c] += static_cast<float>(smoothed);
      for (int64_t o = 0; o < shape_.outputs; ++o) gradient[o] = weight * (gradient[o] - each);
    }
  }

 private:
  bool IsLarge() const { return shape_.batch * shape_.outputs > 1 << 14; }
  double Outputs() const { return static_cast<double>(shape_.outputs); }
  double WeightOf(int32_t c) const {
    return shaping_.class_weights.empty() ? 1 : shaping_.class_weights[static_cast<size_t>(c)];
  }

  CrossEntropyShape shape_;
  LossShaping shaping_;
};

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

std::unique_ptr<LayerPlan> ShapedLoss(std::unique_ptr<LayerPlan> plan,
                                      const CrossEntropyShape& shape, LossShaping shaping) {
  return std::make_unique<ShapedLossPlan>(std::move(plan), shape, std::move(shaping));
}

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
