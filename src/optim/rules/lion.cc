// Lion: each number moves by the rate, in the direction of a running mean's sign:
//   u <- sign(beta1 m + (1 - beta1) g);  m <- beta2 m + (1 - beta2) g;
//   w <- w - rate * (u + weight_decay * w).
// Chen et al., "Symbolic Discovery of Optimization Algorithms" (2023), program 1.
#include <cmath>

#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

inline float Sign(float x) { return static_cast<float>(x > 0) - static_cast<float>(x < 0); }

class Lion : public UpdateRule {
 public:
  explicit Lion(const Options& options)
      : beta1_(options.Float("beta1")),
        beta2_(options.Float("beta2")),
        decay_(options.Float("weight_decay")) {}

  const char* name() const override { return "lion"; }

  std::vector<std::string> StateNames() const override { return {"momentum"}; }

  std::unique_ptr<UpdateRule> Spread(int times) const override {
    auto spread = std::make_unique<Lion>(*this);
    spread->beta1_ = std::pow(beta1_, 1.0 / times);
    spread->beta2_ = std::pow(beta2_, 1.0 / times);
    return spread;
  }

  void ApplyMomentum(const UpdateSpan& span, const UpdateStep& step, int updates) const override {
    const auto distance = static_cast<float>(step.learning_rate * updates);
    for (int64_t i = 0; i < span.count; ++i) span.values[i] -= distance * Sign(span.state[0][i]);
  }

  RuleConstants Constants() const override {
    return {.formula = UpdateFormula::kLion,
            .decoupled_decay = decay_,
            .beta1 = beta1_,
            .beta2 = beta2_};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict m = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const double decay_rate = step.decay_rate.value_or(step.learning_rate);
    const float keep = static_cast<float>(1 - decay_rate * decay_ * step.decay);
    const float beta1 = static_cast<float>(beta1_), rest1 = static_cast<float>(1 - beta1_);
    const float beta2 = static_cast<float>(beta2_), rest2 = static_cast<float>(1 - beta2_);
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i];
      const float direction = Sign(std::fma(beta1, m[i], rest1 * g));
      w[i] = std::fma(keep, w[i], -rate * direction);
      m[i] = std::fma(beta2, m[i], rest2 * g);
    }
  }

 private:
  double beta1_, beta2_, decay_;
};

}  // namespace

RuleEntry lion() {
  return {.name = "lion",
          .summary = "Lion: steps of the rate in the direction of a running mean's sign",
          .options = {DecayOption("beta1", 0.9, "Part of the mean in the direction."),
                      DecayOption("beta2", 0.99, "Decay of the mean of the gradients."),
                      WeightDecayOption(
                          "Each update shrinks the values by this times the learning rate.")},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Lion>(options);
          },
          .learning_rate = 1e-4,
          .rates = {0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00003, 0.00001}};
}

}  // namespace yoke::rule
