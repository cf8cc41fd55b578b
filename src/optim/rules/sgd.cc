// SGD: w <- w - rate * (g + weight_decay * w). Robbins and Monro, "A Stochastic Approximation
// Method" (1951).
#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

class Sgd : public UpdateRule {
 public:
  explicit Sgd(double decay) : decay_(static_cast<float>(decay)) {}

  const char* name() const override { return "sgd"; }

  std::vector<std::string> StateNames() const override { return {}; }

  RuleConstants Constants() const override {
    return {.formula = UpdateFormula::kSgd, .decay = decay_};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const float decay = decay_ * static_cast<float>(step.decay);
    for (int64_t i = 0; i < span.count; ++i) w[i] -= rate * (scale * gradient[i] + decay * w[i]);
  }

  double Reach() const override { return 1; }

  bool IsPlainDescent() const override { return decay_ == 0; }

 private:
  float decay_;
};

}  // namespace

RuleEntry sgd() {
  return {.name = "sgd",
          .summary = "Plain stochastic gradient descent",
          .options = {CoupledDecayOption()},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Sgd>(options.Float("weight_decay"));
          }};
}

}  // namespace yoke::rule
