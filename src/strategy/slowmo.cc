// SlowMo: a slow momentum over averages of local SGD. Wang, Tantia, Ballas, Rabbat, "SlowMo" (2020,
// arXiv 1910.00643): with x_0 - x_tau the mean change of tau steps and gamma the learning rate,
//   u <- beta u + (x_0 - x_tau) / gamma,   x_0 <- x_0 - alpha gamma u.
// The rule's state starts anew each period for SGD with momentum and is kept for Adam. Between the
// averages replicas train alone, or push as sgp does. Cost: that of local_sgd, and of the pushes.
#include "base/check.h"
#include "strategy/outer.h"

namespace yoke::strategy {
namespace {

constexpr int64_t kLongestSlow = 12, kLongestSlowOfPushes = 48;

bool Pushes(const Options& options) { return options.String("base") == "sgp"; }

int64_t SlowPeriod(const Options& options, int64_t steps_per_epoch) {
  return OuterPeriod(options, Pushes(options) ? kLongestSlowOfPushes : kLongestSlow,
                     steps_per_epoch);
}

/// Rules with a velocity start anew; Adam's averages are kept.
bool HasVelocity(const StrategyContext& context) {
  return !context.state.names().empty() && context.rule.Reach() > 0;
}

std::vector<OptionSpec> SlowmoOptions() {
  return {{.name = "slow_momentum",
           .type = OptionType::kFloat,
           .fallback = 0.5,
           .help = "The slow momentum, the paper's beta.",
           .minimum = 0,
           .maximum = 0.999},
          {.name = "slow_rate",
           .type = OptionType::kFloat,
           .fallback = 1.0,
           .help = "Factor on the slow step, the paper's alpha.",
           .minimum = 0,
           .exclusive_minimum = true},
          {.name = "base",
           .type = OptionType::kString,
           .fallback = "local_sgd",
           .help = "What replicas do between two averages: train alone, or push as sgp does.",
           .choices = {"local_sgd", "sgp"}},
          {.name = "overlap",
           .type = OptionType::kBool,
           .fallback = false,
           .help = "With base sgp: use what arrives one step later."}};
}

/// The pushes between averages, with messages of their own; null: none.
std::unique_ptr<Sgp> MakeBase(const Options& options, StrategyContext context) {
  const bool overlaps = options.Bool("overlap");
  Require(!overlaps || Pushes(options), "{}: there is nothing to overlap unless base is sgp",
          options.Where("overlap"));
  if (!Pushes(options)) return nullptr;
  Require(!overlaps || !context.updated_in_place,
          "{}: the executor updates in place, and a copy cannot be", options.Where("overlap"));
  context.world = context.world.Duplicate();
  return std::make_unique<Sgp>(SgpSettings{.overlaps = overlaps}, context);
}

std::unique_ptr<Strategy> MakeSlowmo(const Options& options, const StrategyContext& context) {
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
      OuterSettings{.period = SlowPeriod(options, context.steps_per_epoch),
                    .momentum = true,
                    .resets_rule = HasVelocity(context),
                    .step = step,
                    .base = MakeBase(options, context)});
}

}  // namespace

StrategyEntry slowmo() {
  StrategyEntry entry = OuterEntry("12 (base sgp: 48)");
  entry.name = "slowmo";
  entry.summary = "local_sgd or sgp with a slow momentum over its averages";
  entry.rule_alone = false;
  for (const OptionSpec& option : SlowmoOptions()) entry.options.push_back(option);
  entry.period = SlowPeriod;
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    Cost cost = CostOfOuter(options, size, SlowPeriod(options, 0));
    if (Pushes(options)) cost += CostOfPushes(size, 1);
    return cost;
  };
  entry.make = MakeSlowmo;
  return entry;
}

}  // namespace yoke::strategy
