// Adagrad: each number's rate falls with the sum of its squared gradients:
//   g <- g + weight_decay * w;  s <- s + g^2;  w <- w - rate * g / (sqrt(s) + epsilon).
// Duchi, Hazan, Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic
// Optimization" (2011), equation 1 with a diagonal matrix. Where threads race (optim/racing.h), the
// gradient itself is always in the sum that divides it.
#include <cmath>

#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

class Adagrad : public UpdateRule {
 public:
  explicit Adagrad(const Options& options)
      : decay_(static_cast<float>(options.Float("weight_decay"))),
        epsilon_(static_cast<float>(options.Float("epsilon"))) {}

  const char* name() const override { return "adagrad"; }

  std::vector<std::string> StateNames() const override { return {"square_sum"}; }

  /// A sum does not fade.
  std::unique_ptr<UpdateRule> Spread(int /*times*/) const override {
    return std::make_unique<Adagrad>(*this);
  }

  RuleConstants Constants() const override {
    return {.formula = UpdateFormula::kAdagrad, .decay = decay_, .epsilon = epsilon_};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict s = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const float decay = decay_ * static_cast<float>(step.decay), epsilon = epsilon_;
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i] + decay * w[i];
      s[i] += g * g;
      w[i] -= rate * g / (std::sqrt(s[i]) + epsilon);
    }
  }

 private:
  float decay_, epsilon_;
};

}  // namespace

RuleEntry adagrad() {
  return {.name = "adagrad",
          .summary = "Adagrad: rates that fall with the sum of squared gradients",
          .options = {EpsilonOption(1e-10), CoupledDecayOption()},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Adagrad>(options);
          },
          .rates = {1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001}};
}

}  // namespace yoke::rule
