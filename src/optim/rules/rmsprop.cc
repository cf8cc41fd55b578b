// RMSprop: the gradient is divided by the root of a running mean of its square:
//   g <- g + weight_decay * w;  s <- beta2 s + (1 - beta2) g^2;
//   w <- w - rate * g / (sqrt(s) + epsilon).
// Tieleman and Hinton, "Lecture 6.5: RMSProp" (Coursera, 2012), in PyTorch's form. Where threads
// race (optim/racing.h), the gradient itself is always in the mean that divides it.
#include <cmath>

#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

class RmsProp : public UpdateRule {
 public:
  explicit RmsProp(const Options& options)
      : decay_(static_cast<float>(options.Float("weight_decay"))),
        epsilon_(static_cast<float>(options.Float("epsilon"))),
        beta2_(options.Float("beta2")) {}

  const char* name() const override { return "rmsprop"; }

  std::vector<std::string> StateNames() const override { return {"square"}; }

  std::unique_ptr<UpdateRule> Spread(int times) const override {
    auto spread = std::make_unique<RmsProp>(*this);
    spread->beta2_ = std::pow(beta2_, 1.0 / times);
    return spread;
  }

  RuleConstants Constants() const override {
    return {
        .formula = UpdateFormula::kRmsProp, .decay = decay_, .beta2 = beta2_, .epsilon = epsilon_};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict s = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const float decay = decay_ * static_cast<float>(step.decay), epsilon = epsilon_;
    const float beta2 = static_cast<float>(beta2_), rest = static_cast<float>(1 - beta2_);
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i] + decay * w[i];
      s[i] = beta2 * s[i] + rest * g * g;
      w[i] -= rate * g / (std::sqrt(s[i]) + epsilon);
    }
  }

 private:
  float decay_, epsilon_;
  double beta2_;
};

}  // namespace

RuleEntry rmsprop() {
  return {.name = "rmsprop",
          .summary = "RMSprop: gradients divided by the root of their running mean square",
          .options = {DecayOption("beta2", 0.99, "Decay of the mean of the squared gradients."),
                      EpsilonOption(1e-8), CoupledDecayOption()},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<RmsProp>(options);
          },
          .rates = {0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001}};
}

}  // namespace yoke::rule
