// Notes: the sentences with places, figures and advice.
#include "train/notes.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "strategy/served.h"
#include "train/job/parts.h"

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

std::string LossNote(double loss) {
  if (std::isnan(loss)) return "the loss became nan";
  return loss < 0 ? fmt::format("the loss became {:.3g}, below 0", loss)
                  : fmt::format("the loss became {}", loss);
}

std::string DivergenceNote(const Divergence& d) {
  return fmt::format(
      "{} at step {} (epoch {}){}; try a smaller train.learning_rate (now {:.3g}), "
      "train.clip_norm = 1, or a warm-up (train.schedule)",
      d.what, d.step, std::max<int64_t>(1, d.epoch),
      d.where.empty() ? "" : fmt::format(", first in '{}'", d.where), d.learning_rate);
}

std::string RuinNote(const std::string& folder, const std::vector<double>& losses, size_t ruined,
                     double untrained) {
  return fmt::format(
      "{} is ruined: the loss of {} is {:.4g} on training examples, {:.4g} before training; to "
      "use the checkpoint before it, rename that folder and resume again",
      folder, losses.size() == 1 ? "its weights" : fmt::format("replica {}", ruined),
      losses[ruined], untrained);
}

std::string LossOfRanksNote(const RecoveryPlan& recovery, int ranks, int64_t step) {
  return fmt::format("rank {} of {} is lost{}: {} continue from step {}",
                     fmt::join(recovery.lost, ", "), recovery.world,
                     recovery.trained() ? "" : " before the first step", ranks, step);
}

std::string LongWaitNote(const Timeline* timeline, const Job& job) {
  const double timeout = job.cluster.Float("timeout");
  if (!timeline || timeline->longest_wait() <= timeout) return "";
  return fmt::format(
      "a rank waited {:.4g} virtual seconds for another: on real nodes set cluster.timeout, now "
      "{:.4g} s, above that",
      timeline->longest_wait(), timeout);
}

namespace {

std::string CollapseSentence(const EndEvent& end) {
  if (!end.collapse) return "";
  return fmt::format(
      "; the model has collapsed: {}; {}", end.collapse->Text(),
      end.good.empty() ? "no checkpoint is good" : "the last good one is " + end.good);
}

std::string WhereWeightsAre(const EndEvent& end) {
  if (end.best.empty()) return fmt::format("the weights are in {}/last", end.run);
  return fmt::format("the weights are in {}/last{}, the best ones ({}) in {}", end.run,
                     end.test.empty() ? "" : " (the test metrics are theirs)", end.best_text,
                     end.best);
}

std::string HowToContinue(const EndEvent& end, bool simulated) {
  if (end.reason == "finished" || end.reason == "target" || end.reason == "early_stopping")
    return WhereWeightsAre(end);
  if (end.reason == "replan") return "what the job leaves open is chosen again";
  if (simulated)
    return fmt::format("stopped at step {}; the weights are in {}/last", end.step, end.run);
  return fmt::format("stopped at step {}; continue with: yoke train --resume {}", end.step,
                     end.run);
}

}  // namespace

std::string EndSentence(const EndEvent& end, bool simulated) {
  return HowToContinue(end, simulated) + CollapseSentence(end);
}

std::string HardwareOf(const SimulatedCluster& cluster, int ranks) {
  const int nodes = cluster.machines.NodeOf(ranks - 1) + 1;
  std::string text = fmt::format("{} simulated node{}", nodes, nodes == 1 ? "" : "s");
  if (ranks != nodes) text += fmt::format(" ({} ranks)", ranks);
  return cluster.title.empty() ? text : text + ": " + cluster.title;
}

std::string HardwareOf(const Job& job, const RunRequest& request, const DeviceShares& devices,
                       int ranks, int threads) {
  if (request.cluster) return HardwareOf(*request.cluster, ranks);
  const bool asked = job.node.Where("devices").starts_with("YOKE_DEVICES");
  const bool several = ranks > 1;
  const char* const share = devices.shared ? " that share them" : "";
  return fmt::format(
      "{}{} ({}{} thread{}{}{})", fmt::join(devices.used, " + "), asked ? " by YOKE_DEVICES" : "",
      several ? fmt::format("{} ranks{}, ", ranks, share) : "", threads, threads == 1 ? "" : "s",
      several ? " each" : "",
      devices.idle.empty() ? "" : fmt::format("; idle: {}", fmt::join(devices.idle, ", ")));
}

}  // namespace yoke
