// Momentum (the heavy ball), in the form of PyTorch's SGD without dampening:
//   g <- g + weight_decay * w;  m <- momentum * m + g;  w <- w - rate * m.
// Polyak, "Some methods of speeding up the convergence of iteration methods" (1964).
#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

class Momentum : public UpdateRule {
 public:
  Momentum(double momentum, double decay)
      : momentum_(static_cast<float>(momentum)), decay_(static_cast<float>(decay)) {}

  std::vector<std::string> StateNames() const override { return {"momentum"}; }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict m = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const float momentum = momentum_;
    const float decay = decay_;
    for (int64_t i = 0; i < span.count; ++i) {
      m[i] = momentum * m[i] + (scale * gradient[i] + decay * w[i]);
      w[i] -= rate * m[i];
    }
  }

 private:
  float momentum_;
  float decay_;
};

}  // namespace

RuleEntry momentum() {
  return {.name = "momentum",
          .summary = "SGD with momentum (Polyak's heavy ball)",
          .options = {MomentumOption(), CoupledDecayOption()},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Momentum>(options.Float("momentum"),
                                              options.Float("weight_decay"));
          }};
}

}  // namespace yoke::rule
