// StepTotals: what a rank adds up of its steps between two meetings.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "node/executor.h"

namespace yoke {

/// The sums that each rank contributes to a meeting.
struct StepTotals {
  double loss_sum = 0;  ///< Sum of losses over `examples`.
  int64_t examples = 0;
  int64_t bad_step = 0;   ///< Step at which its loss became non-finite (1 for the first); 0: none.
  double bad_loss = 0;    ///< The loss at that step.
  int64_t signal = 0;     ///< The signal that asked this process to stop.
  double recent_log = 0;  ///< Mean logarithm of the losses (at least 1) of its last steps in this
  int64_t recent = 0;     ///< round, and the number of these steps (train/divergence.h).
  double first_loss = 0;  ///< Mean loss of its first steps if the round starts the run,
  int64_t first_examples = 0;  ///< over this many examples.
  int64_t dealt = 0;           ///< On rank 0: the start of the next round.

  /// Adds a step of the run (1 for the first), or a part of it. A step's result may come later than
  /// that of the next one. `starts`: the round starts the run.
  void Add(const StepResult& result, int64_t step, bool starts);
};

/// The loss of the last steps of all ranks; 0: there were none.
double RecentLoss(const std::vector<StepTotals>& all_totals);
/// The loss of the first steps of the run; 0: unknown. The minimum over the ranks, because a slow
/// rank may start on a model that has already exploded.
double UntrainedLoss(const std::vector<StepTotals>& all_totals);
/// The totals of the first rank with a non-finite loss.
std::optional<StepTotals> FirstBad(const std::vector<StepTotals>& all_totals);

}  // namespace yoke
