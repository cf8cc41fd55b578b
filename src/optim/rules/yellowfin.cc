// YellowFin: SGD whose rate and momentum are tuned (yellowfin_tuner.h). With the tuned rate times
// learning_rate, and g clipped:
//   mean <- beta mean + (1 - beta) g;  d <- momentum d - rate (g + weight_decay w);  w <- w + d.
// Zhang, Mitliagkas, "YellowFin and the Art of Momentum Tuning" (2017, arXiv 1706.03471).
#include "optim/rules/options.h"
#include "optim/rules/yellowfin_tuner.h"

namespace yoke::rule {
namespace {

class YellowFin : public UpdateRule {
 public:
  YellowFin(const YellowFinSettings& settings, double decay)
      : settings_(settings), decay_(static_cast<float>(decay)) {}

  const char* name() const override { return "yellowfin"; }

  std::vector<std::string> StateNames() const override { return {"mean", "displacement"}; }

  int Scalars() const override { return kYellowFinScalars; }

  UpdateStep Tune(const UpdateStep& step, const UpdateFacts& facts,
                  std::span<float> scalars) const override {
    YellowFinMemory memory = ReadYellowFin(scalars);
    UpdateStep tuned = step;
    tuned.gradient_scale *= Advance(settings_, facts, step.step - 1, memory);
    tuned.learning_rate *= memory.rate;
    tuned.momentum = memory.momentum;
    Write(memory, scalars);
    return tuned;
  }

  RuleConstants Constants() const override {
    return {.formula = UpdateFormula::kYellowFin, .decay = decay_, .beta1 = settings_.beta};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict mean = span.state[0];
    float* __restrict d = span.state[1];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const float momentum = static_cast<float>(step.momentum);
    const float decay = decay_ * static_cast<float>(step.decay);
    const float beta = static_cast<float>(settings_.beta);
    const float rest = static_cast<float>(1 - settings_.beta);
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i];
      mean[i] = beta * mean[i] + rest * g;
      d[i] = momentum * d[i] - rate * (g + decay * w[i]);
      w[i] += d[i];
    }
  }

 private:
  YellowFinSettings settings_;
  float decay_;
};

}  // namespace

RuleEntry yellowfin() {
  return {
      .name = "yellowfin",
      .summary = "SGD that tunes its own learning rate and momentum",
      .options = {DecayOption("beta", 0.999, "Decay of the tuner's averages."),
                  FractionOption("feedback", 0.01,
                                 "Where gradients come late: the part of the momentum's error "
                                 "that one update corrects; 0: none."),
                  CoupledDecayOption()},
      .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
        return std::make_unique<YellowFin>(
            YellowFinSettings{.beta = options.Float("beta"), .feedback = options.Float("feedback")},
            options.Float("weight_decay"));
      },
      .learning_rate = 1,
      .rates = {}};
}

}  // namespace yoke::rule
