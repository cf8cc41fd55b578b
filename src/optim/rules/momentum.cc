// Momentum in two forms, with the options `momentum` and `weight_decay`:
//   g <- g + weight_decay * w;  m <- momentum * m + g;  w <- w - rate * (direct * g + along * m).
// momentum, the heavy ball, in the form of PyTorch's SGD without dampening: direct = 0, along = 1.
// Polyak, "Some methods of speeding up the convergence of iteration methods" (1964).
// nesterov, which looks ahead, in the form of PyTorch's SGD(nesterov=True): direct = 1, along =
// momentum. Sutskever et al., "On the importance of initialization and momentum in deep learning"
// (2013).
#include <cmath>

#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

class Momentum : public UpdateRule {
 public:
  Momentum(const Options& options, bool nesterov)
      : momentum_(static_cast<float>(options.Float("momentum"))),
        decay_(static_cast<float>(options.Float("weight_decay"))),
        direct_(nesterov ? 1.0F : 0.0F),
        along_(nesterov ? momentum_ : 1.0F) {}

  double Reach() const override { return 1 / (1 - static_cast<double>(momentum_)); }

  /// Decays as fast in time, and a gradient still moves the values by rate / (1 - momentum) in all.
  std::unique_ptr<UpdateRule> Spread(int times) const override {
    auto spread = std::make_unique<Momentum>(*this);
    spread->momentum_ = std::pow(momentum_, 1.0F / static_cast<float>(times));
    spread->gain_ = (1 - spread->momentum_) / (1 - momentum_);
    if (direct_ > 0) spread->along_ = spread->momentum_;
    return spread;
  }

  void ApplyMomentum(const UpdateSpan& span, const UpdateStep& step, int updates) const override {
    const double sum = momentum_ * (1 - std::pow(momentum_, updates)) / (1 - momentum_);
    const auto rate = static_cast<float>(step.learning_rate * sum * along_);
    for (int64_t i = 0; i < span.count; ++i) span.values[i] -= rate * span.state[0][i];
  }

  std::vector<std::string> StateNames() const override { return {"momentum"}; }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict m = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = gain_ * static_cast<float>(step.gradient_scale);
    const float momentum = momentum_, decay = gain_ * decay_, direct = direct_, along = along_;
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i] + decay * w[i];
      m[i] = momentum * m[i] + g;
      w[i] -= rate * (direct * g + along * m[i]);
    }
  }

 private:
  float momentum_, decay_, direct_, along_;
  float gain_ = 1;  // factor on what enters the velocity
};

template <bool nesterov>
std::unique_ptr<UpdateRule> MakeMomentum(const Options& options) {
  return std::make_unique<Momentum>(options, nesterov);
}

}  // namespace

RuleEntry momentum() {
  return {.name = "momentum",
          .summary = "SGD with momentum (Polyak's heavy ball)",
          .options = {MomentumOption(), CoupledDecayOption()},
          .make = MakeMomentum<false>};
}

RuleEntry nesterov() {
  return {.name = "nesterov",
          .summary = "SGD with Nesterov's momentum",
          .options = {MomentumOption(), CoupledDecayOption()},
          .make = MakeMomentum<true>};
}

}  // namespace yoke::rule
