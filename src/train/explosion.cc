// Explosion: compares the loss after an epoch or an evaluation by steps with the untrained model's.
#include "train/explosion.h"

#include <algorithm>
#include <numbers>

#include "train/collapse.h"

namespace yoke {

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
