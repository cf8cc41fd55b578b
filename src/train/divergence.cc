// Divergence: an exploded loss is many times the first one; collapse compares gains over guessing,
// because a ruined model guesses.
#include "train/divergence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/losses.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr double kLeftOfGain = 0.25;
constexpr double kDeviations = 4;

double ValueOf(const Metrics& metrics, const std::string& name) {
  const auto found = std::ranges::find(metrics, name, &Metrics::value_type::first);
  return found == metrics.end() ? NAN : found->second;
}

std::string HeadlineOf(const Metrics& metrics) {
  for (const char* name : {"accuracy", "p_at_1"})
    if (std::ranges::count(metrics, name, &Metrics::value_type::first) > 0) return name;
  return "loss";
}

/// Whether a fraction of hits fell from `best` to `value`, by more than guessing explains.
bool LostItsGain(double value, double best, double chance, int64_t examples) {
  const double noise = kDeviations * 0.5 / std::sqrt(static_cast<double>(examples));
  return value - chance < kLeftOfGain * (best - chance) && best - value > noise;
}

}  // namespace

std::string Collapse::Text() const {
  if (!IsPossibleLoss(value))
    return fmt::format("the {} after epoch {:.6g} is {:.4g}, which is impossible", metric, epoch,
                       value);
  return fmt::format("the {} {} from {} after epoch {:.6g} to {} after epoch {:.6g}", metric,
                     value < best.value ? "fell" : "rose", Metric(best.value), best.epoch,
                     Metric(value), epoch);
}

std::optional<Collapse> FindCollapse(const Metrics& metrics, double epoch, double untrained,
                                     const EvaluatedData& data, BestEvaluation& best) {
  const std::string metric = HeadlineOf(metrics);
  const double value = ValueOf(metrics, metric), loss = ValueOf(metrics, "loss");
  if (!IsPossibleLoss(loss))
    return Collapse{.metric = "loss", .value = loss, .epoch = epoch, .best = best};
  const bool by_loss = metric == "loss";
  const double chance = metric == "accuracy" ? 1 / static_cast<double>(data.outputs) : 0;
  const bool collapsed =
      by_loss ? untrained > 0 && loss > untrained && loss > 2 * best.loss
              : loss > best.loss && LostItsGain(value, best.value, chance, data.examples);
  if (best.epoch > 0 && collapsed)
    return Collapse{.metric = metric, .value = value, .epoch = epoch, .best = best};
  if (best.epoch == 0 || (by_loss ? value < best.value : value > best.value))
    best = {.epoch = epoch, .value = value, .loss = loss};
  return {};
}

bool Exploded(double untrained, double recent, const Metrics& measured) {
  if (untrained <= 0) return false;
  const double limit = kExplosion * std::max(untrained, 1.0);
  const auto beyond = [limit](double loss) { return !IsPossibleLoss(loss) || loss > limit; };
  if (!beyond(recent)) return false;
  const auto loss = std::ranges::find(measured, "loss", &Metrics::value_type::first);
  return loss == measured.end() || beyond(loss->second);
}

double LossOverAll(double untrained, const DataInfo& data) {
  return std::max(untrained, data.multi_label ? std::numbers::ln2 * double(data.outputs) : 0);
}

}  // namespace yoke
