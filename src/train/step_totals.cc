// StepTotals: the averages that Exploded compares.
#include "train/step_totals.h"

#include <algorithm>
#include <cmath>

#include "kernels/losses.h"
#include "train/divergence.h"

namespace yoke {

void StepTotals::Add(const StepResult& result, int64_t step, bool starts) {
  if (!IsPossibleLoss(result.loss)) {
    if (bad_step == 0) bad_step = step, bad_loss = result.loss;
    return;
  }
  const auto weight = static_cast<double>(result.examples);
  loss_sum += result.loss * weight;
  examples += result.examples;
  if (result.examples == 0) return;
  recent = std::min(recent + 1, kRecentSteps);
  recent_log += (std::log(std::max(result.loss, 1.0)) - recent_log) / static_cast<double>(recent);
  if (!starts || first_examples >= kFirstExamples) return;
  first_examples += result.examples;
  first_loss += (result.loss - first_loss) * weight / static_cast<double>(first_examples);
}

double RecentLoss(const std::vector<StepTotals>& all_totals) {
  double logs = 0, steps = 0;
  for (const StepTotals& totals : all_totals) {
    logs += totals.recent_log * static_cast<double>(totals.recent);
    steps += static_cast<double>(totals.recent);
  }
  return steps > 0 ? std::exp(logs / steps) : 0;
}

double UntrainedLoss(const std::vector<StepTotals>& all_totals) {
  double least = 0;
  for (const StepTotals& totals : all_totals)
    if (totals.first_examples > 0 && (least == 0 || totals.first_loss < least))
      least = totals.first_loss;
  return least;
}

std::optional<StepTotals> FirstBad(const std::vector<StepTotals>& all_totals) {
  for (const StepTotals& totals : all_totals)
    if (totals.bad_step > 0) return totals;
  return {};
}

}  // namespace yoke
