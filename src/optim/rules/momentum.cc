// Momentum in two forms, with the options `momentum`, `weight_decay` and `velocity`:
//   g <- g + weight_decay * w;  m <- momentum * m + g;  w <- w - rate * (direct * g + along * m),
// or with velocity = "steps", which differs where the rate changes:
//   s <- rate * (g + weight_decay * w);  v <- momentum * v + s;  w <- w - (direct * s + along * v).
// momentum, the heavy ball, in the form of PyTorch's SGD without dampening: direct = 0, along = 1.
// Polyak, "Some methods of speeding up the convergence of iteration methods" (1964).
// nesterov, which looks ahead, in the form of PyTorch's SGD(nesterov=True): direct = 1, along =
// momentum. Sutskever et al., "On the importance of initialization and momentum in deep learning"
// (2013), who sum steps, as do You, Buluç, Demmel (SC17, equations 3 to 6).
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
        along_(nesterov ? momentum_ : 1.0F),
        sums_steps_(options.Has("velocity") && options.String("velocity") == "steps") {}

  const char* name() const override { return direct_ > 0 ? "nesterov" : "momentum"; }

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
    const auto rate = static_cast<float>((sums_steps_ ? 1 : step.learning_rate) * sum * along_);
    for (int64_t i = 0; i < span.count; ++i) span.values[i] -= rate * span.state[0][i];
  }

  std::vector<std::string> StateNames() const override {
    return {sums_steps_ ? "velocity" : "momentum"};
  }

  RuleConstants Constants() const override {
    return {.formula = UpdateFormula::kMomentum,
            .decay = decay_,
            .beta1 = momentum_,
            .direct = direct_,
            .along = along_,
            .gain = gain_,
            .sums_steps = sums_steps_};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict m = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float given = static_cast<float>(step.learning_rate);
    const float gain = sums_steps_ ? gain_ * given : gain_;  // on what enters the velocity
    const float rate = sums_steps_ ? 1 : given;              // on what leaves it
    const float scale = gain * static_cast<float>(step.gradient_scale);
    const float decay = gain * decay_ * static_cast<float>(step.decay);
    const float momentum = momentum_, direct = direct_, along = along_;
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i] + decay * w[i];
      m[i] = momentum * m[i] + g;
      w[i] -= rate * (direct * g + along * m[i]);
    }
  }

 private:
  float momentum_, decay_, direct_, along_;
  bool sums_steps_;
  float gain_ = 1;  // factor on what enters the velocity
};

OptionSpec VelocityOption() {
  return {.name = "velocity",
          .type = OptionType::kString,
          .help =
              "What the velocity sums: gradients, all of which then move the model at the "
              "present learning rate, or steps, each of the learning rate of its time. By "
              "default gradients; steps under easgd_async_momentum and the paper's form of "
              "a server.",
          .choices = {"gradients", "steps"}};
}

template <bool Nesterov>
std::unique_ptr<UpdateRule> MakeMomentum(const Options& options) {
  return std::make_unique<Momentum>(options, Nesterov);
}

}  // namespace

RuleEntry momentum() {
  return {.name = "momentum",
          .summary = "SGD with momentum (Polyak's heavy ball)",
          .options = {MomentumOption(), CoupledDecayOption(), VelocityOption()},
          .make = MakeMomentum<false>};
}

RuleEntry nesterov() {
  return {.name = "nesterov",
          .summary = "SGD with Nesterov's momentum",
          .options = {MomentumOption(), CoupledDecayOption(), VelocityOption()},
          .make = MakeMomentum<true>};
}

}  // namespace yoke::rule
