// MeasuredUses: how many examples candidates needed in trials, beside synchronous updates.
#pragma once

#include <vector>

#include "plan/efficiency.h"
#include "plan/trials.h"

namespace yoke {

/// Of the first loss: a higher one does not tell that anything was learned.
inline constexpr double kLearned = 0.9;

/// A candidate that was tried.
struct TriedUse {
  ExampleUse use = {};
  double first_loss = 0;              ///< Before its trials.
  std::vector<LossPoint> curve = {};  ///< Of all of them, not empty.
};

/// Of each, beside the first one of synchronous updates: its examples to the lowest loss that both
/// reached, divided by what their batches cost at this noise scale (RelativeExamples). Left out are
/// those that have not learned, or were there in the first tenth of the trials. Empty: there were
/// no synchronous updates.
std::vector<MeasuredUse> MeasuredUses(const std::vector<TriedUse>& tried, double noise);

}  // namespace yoke
