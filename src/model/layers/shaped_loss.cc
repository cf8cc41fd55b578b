// ShapedLoss: with s the scores, c the class, K classes and cross-entropy H, the loss is
//   w_c * (H + smoothing * (s_c - mean of s)),
// and its gradient w_c * (softmax(s) - (1 - smoothing) [o = c] - smoothing / K) over the batch.
#include "model/layers/shaped_loss.h"

#include <numeric>
#include <utility>

#include "base/check.h"
#include "model/layers/wrapped_plan.h"

namespace yoke::layer {
namespace {

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

}  // namespace

std::unique_ptr<LayerPlan> ShapedLoss(std::unique_ptr<LayerPlan> plan,
                                      const CrossEntropyShape& shape, LossShaping shaping) {
  return std::make_unique<ShapedLossPlan>(std::move(plan), shape, std::move(shaping));
}

}  // namespace yoke::layer
