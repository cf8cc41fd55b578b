// RMSprop and Adagrad divide the gradient by the root of a mean or of a sum of its squares:
//   g <- g + weight_decay * w;  s <- beta2 s + (1 - beta2) g^2 (RMSprop), or s + g^2 (Adagrad);
//   w <- w - rate * g / (sqrt(s) + epsilon).
// Tieleman and Hinton, "Lecture 6.5: RMSProp" (Coursera, 2012), in PyTorch's form. Duchi, Hazan,
// Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization" (2011),
// equation 1 with a diagonal matrix. Where threads race (optim/racing.h), the gradient itself is
// always in the s that divides it.
#include <cmath>

#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

/// `Fades`: RMSprop.
template <bool Fades>
class RootRule : public UpdateRule {
 public:
  explicit RootRule(const Options& options)
      : decay_(static_cast<float>(options.Float("weight_decay"))),
        epsilon_(static_cast<float>(options.Float("epsilon"))),
        beta2_(Fades ? options.Float("beta2") : 1) {}

  const char* name() const override { return Fades ? "rmsprop" : "adagrad"; }

  std::vector<std::string> StateNames() const override { return {Fades ? "square" : "square_sum"}; }

  /// A sum does not fade: it stays.
  std::unique_ptr<UpdateRule> Spread(int times) const override {
    auto spread = std::make_unique<RootRule>(*this);
    spread->beta2_ = std::pow(beta2_, 1.0 / times);
    return spread;
  }

  RuleConstants Constants() const override {
    return {.formula = Fades ? UpdateFormula::kRmsProp : UpdateFormula::kAdagrad,
            .decay = decay_,
            .beta2 = beta2_,
            .epsilon = epsilon_};
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
      if constexpr (Fades)
        s[i] = beta2 * s[i] + rest * g * g;
      else
        s[i] += g * g;
      w[i] -= rate * g / (std::sqrt(s[i]) + epsilon);
    }
  }

 private:
  float decay_, epsilon_;
  double beta2_;
};

template <bool Fades>
std::unique_ptr<UpdateRule> MakeRootRule(const Options& options) {
  return std::make_unique<RootRule<Fades>>(options);
}

}  // namespace

RuleEntry rmsprop() {
  return {.name = "rmsprop",
          .summary = "RMSprop: gradients divided by the root of their running mean square",
          .options = {DecayOption("beta2", 0.99, "Decay of the mean of the squared gradients."),
                      EpsilonOption(1e-8), CoupledDecayOption()},
          .make = MakeRootRule<true>,
          .rates = {0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001}};
}

RuleEntry adagrad() {
  return {.name = "adagrad",
          .summary = "Adagrad: rates that fall with the sum of squared gradients",
          .options = {EpsilonOption(1e-10), CoupledDecayOption()},
          .make = MakeRootRule<false>,
          .rates = {1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001}};
}

}  // namespace yoke::rule
