// StalenessNote: estimates how far the model moves between a gradient's values and its update.
#include "train/staleness_note.h"

#include <fmt/format.h>

#include <algorithm>

#include "strategy/served.h"
#include "train/replica.h"

namespace yoke {
namespace {

/// P c rate from which on runs trained poorly (docs/strategies/async_sgd.md, Rates).
double HighRate(const UpdateRule& rule, bool predicts) {
  const double steady = SteadyRate(rule, 1);
  if (steady == 0) return 0.01;
  return predicts ? std::max(0.2, steady) : steady;
}

}  // namespace

std::string StalenessNote(const Job& job, const StrategyEntry& strategy, int world) {
  if (!HasServerOptions(strategy)) return "";
  const Roles roles = RolesIn(strategy, job.cluster, world);
  const int pushers = roles.workers / roles.team;
  if (pushers == 1) return "";
  const double rate = job.train.Float("learning_rate");
  const auto rule = RuleOf(job);
  if (rule->Scalars() > 0) return "";  // it tunes the rate
  // Summed over all that push.
  const double times = pushers * EffectiveRateScale(job.cluster, *rule, rate, pushers);
  const double high = HighRate(*rule, PredictsWeights(job.cluster));
  // Tolerates rounding.
  if (rate * times <= high * 1.001) return "";
  return fmt::format(
      "train.learning_rate = {:.3g}{} is high for {} with gradients that are about {} updates old: "
      "the model may not learn; if the loss does not fall, try train.learning_rate = {:.2g} or "
      "cluster.strategy = \"allreduce\"",
      rate,
      rule->Reach() == 0 ? " with rule " + job.train.String("rule")
                         : fmt::format(" with momentum {:.3g}", 1 - 1 / rule->Reach()),
      strategy.name, pushers - 1, high / times);
}

}  // namespace yoke
