// StalenessNote: estimates how far the model moves between a gradient's values and its update.
#include "train/staleness_note.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke {
namespace {

/// P c rate from which on runs trained poorly (docs/strategies/async_sgd.md, Rates).
double HighRate(bool adaptive, bool predicts, double momentum) {
  if (adaptive) return 0.01;
  return predicts ? 0.2 : 0.3 * (1 - momentum);
}

double MomentumOf(const Job& job, const StrategyEntry& strategy) {
  const std::string& rule = job.train.String("rule");
  if (rule == "momentum" || rule == "nesterov") return job.train.Float("momentum");
  return rule == "sgd" && strategy.forces_momentum ? 0.9 : 0;
}

}  // namespace

std::string StalenessNote(const Job& job, const StrategyEntry& strategy, int world) {
  if (std::ranges::find(strategy.options, "rate_scale", &OptionSpec::name) ==
      strategy.options.end())
    return "";
  const Roles roles = RolesIn(strategy, job.cluster, world);
  const int pushers = roles.workers / roles.team;
  if (pushers == 1) return "";
  const std::string& rule = job.train.String("rule");
  const bool adaptive = rule == "adam" || rule == "adamw";
  const double momentum = MomentumOf(job, strategy);
  const double scale = job.cluster.Has("rate_scale")            ? job.cluster.Float("rate_scale")
                       : job.cluster.Bool("scale_by_staleness") ? 1
                                                                : 1.0 / pushers;
  // Summed over all that push; scaling by staleness already divides by their number.
  const double times = job.cluster.Bool("scale_by_staleness") ? scale : scale * pushers;
  const double rate = job.train.Float("learning_rate");
  const double high = HighRate(adaptive, job.cluster.Bool("predict_weights"), momentum);
  // Tolerates rounding.
  if (rate * times <= high * 1.001) return "";
  return fmt::format(
      "train.learning_rate = {:.3g}{} is high for {} with gradients that are about {} updates old: "
      "the model may not learn; if the loss does not fall, try train.learning_rate = {:.2g} or "
      "cluster.strategy = \"allreduce\"",
      rate, adaptive ? " with rule " + rule : fmt::format(" with momentum {:.3g}", momentum),
      strategy.name, pushers - 1, high / times);
}

}  // namespace yoke
