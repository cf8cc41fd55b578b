// MeasuredUses: examples to a common loss.
#include "plan/measured_uses.h"

#include <algorithm>

#include "plan/statistics.h"

namespace yoke {
namespace {

constexpr double kMostRatio = 4;    // of examples: more tells of something else
constexpr double kFirstPart = 0.1;  // of a curve: its losses are those of the start
constexpr Efficiency kCostless = {.staleness = 0, .interval = 0};

/// 0: it tells nothing.
double RatioOfExamples(const TriedUse& one, const TriedUse& synchronous) {
  const double loss = std::max(LastLoss(one.curve), LastLoss(synchronous.curve));
  const double first = std::min(one.first_loss, synchronous.first_loss);
  if (!(loss < kLearned * first)) return 0;
  const double its = ExamplesTo(one.curve, loss), others = ExamplesTo(synchronous.curve, loss);
  const double shorter = std::min(one.curve.back().examples, synchronous.curve.back().examples);
  return std::min(its, others) < kFirstPart * shorter ? 0 : its / others;
}

}  // namespace

std::vector<MeasuredUse> MeasuredUses(const std::vector<TriedUse>& tried, double noise) {
  const auto synchronous =
      std::ranges::find_if(tried, [](const TriedUse& one) { return one.use.IsSynchronous(); });
  std::vector<MeasuredUse> measured;
  for (const TriedUse& one : tried) {
    if (synchronous == tried.end() || &one == &*synchronous) continue;
    const double ratio = RatioOfExamples(one, *synchronous);
    const double by_batch = RelativeExamples(one.use, synchronous->use.batch, noise, kCostless);
    if (ratio > 0)
      measured.push_back(
          {.use = one.use, .examples = std::clamp(ratio / by_batch, 1 / kMostRatio, kMostRatio)});
  }
  return measured;
}

}  // namespace yoke
