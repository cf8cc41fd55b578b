// Nesterov's momentum, in the form of PyTorch's SGD(nesterov=True): the step looks one momentum
// ahead.
//   g <- g + weight_decay * w;  m <- momentum * m + g;  w <- w - rate * (g + momentum * m).
// Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

class Nesterov : public UpdateRule {
 public:
  Nesterov(double momentum, double decay)
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
      const float g = scale * gradient[i] + decay * w[i];
      m[i] = momentum * m[i] + g;
      w[i] -= rate * (g + momentum * m[i]);
    }
  }

 private:
  float momentum_;
  float decay_;
};

}  // namespace

RuleEntry nesterov() {
  return {.name = "nesterov",
          .summary = "SGD with Nesterov's momentum",
          .options = {MomentumOption(), CoupledDecayOption()},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Nesterov>(options.Float("momentum"),
                                              options.Float("weight_decay"));
          }};
}

}  // namespace yoke::rule
