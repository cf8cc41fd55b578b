// SlowMo: a slow momentum over averages of local SGD. Wang, Tantia, Ballas, Rabbat, "SlowMo" (2020,
// arXiv 1910.00643): with x_0 - x_tau the mean change of tau steps and gamma the learning rate,
//   u <- beta u + (x_0 - x_tau) / gamma,   x_0 <- x_0 - alpha gamma u.
// The rule's state starts anew each period for SGD with momentum and is kept for Adam. Cost: that
// of local_sgd.
#include "strategy/outer.h"

namespace yoke::strategy {
namespace {

constexpr int64_t kLongestSlow = 12;

/// Rules of one velocity start anew; Adam's averages are kept.
bool HasOneVelocity(const RuleState& state) { return state.names().size() == 1; }

}  // namespace

StrategyEntry slowmo() {
  StrategyEntry entry = OuterEntry("12");
  entry.name = "slowmo";
  entry.summary = "local_sgd with a slow momentum over its averages";
  entry.rule_alone = false;
  entry.options.push_back({.name = "slow_momentum",
                           .type = OptionType::kFloat,
                           .fallback = 0.5,
                           .help = "The slow momentum, the paper's beta.",
                           .minimum = 0,
                           .maximum = 0.999});
  entry.options.push_back({.name = "slow_rate",
                           .type = OptionType::kFloat,
                           .fallback = 1.0,
                           .help = "Factor on the slow step, the paper's alpha.",
                           .minimum = 0,
                           .exclusive_minimum = true});
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return CostOfOuter(options, size, OuterPeriod(options, kLongestSlow, 0));
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    const auto beta = static_cast<float>(options.Float("slow_momentum"));
    const auto alpha = static_cast<float>(options.Float("slow_rate"));
    const auto step = [beta, alpha](const OuterState& s) {
      const auto gamma = static_cast<float>(s.learning_rate);
      if (gamma == 0) return Subtract(s.values, s.change);
      Scale(s.momentum, beta);
      AddScaled(s.momentum, 1 / gamma, s.change);
      AddScaled(s.values, -alpha * gamma, s.momentum);
    };
    return std::make_unique<Outer>(
        options, context,
        OuterSettings{.period = OuterPeriod(options, kLongestSlow, context.steps_per_epoch),
                      .momentum = true,
                      .resets_rule = HasOneVelocity(context.state),
                      .step = step});
  };
  return entry;
}

}  // namespace yoke::strategy
