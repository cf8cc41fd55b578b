// Collapse: detects an evaluation that shows a ruined model, although training goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/losses.h"
#include "train/metrics.h"

namespace yoke {

/// The best evaluation of a run so far.
struct BestEvaluation {
  double epoch = 0;  ///< After so many; 0: none yet.
  double value = 0;  ///< Accuracy, p_at_1 or, for other data, the loss.
  double loss = 0;
};

/// An evaluation that is far below the best one, or impossible.
struct Collapse {
  std::string metric;
  double value = 0;
  double epoch = 0;
  BestEvaluation best = {};

  /// "the accuracy fell from 0.92 after epoch 4 to 0.085 after epoch 5"
  std::string Text() const;
};

/// What a run's evaluations are measured on.
struct EvaluatedData {
  int64_t outputs = 0;
  int64_t examples = 0;
};

/// Judges the evaluation after `epoch` epochs against the best so far, which it updates. Collapsed:
/// a loss that is impossible; an accuracy or p_at_1 that has lost three quarters of what it gained
/// over guessing, more than chance explains on so many examples, together with a higher loss; for
/// data with a loss alone, one above twice the best and above `untrained` (0: unknown).
std::optional<Collapse> FindCollapse(const Metrics& metrics, double epoch, double untrained,
                                     const EvaluatedData& data, BestEvaluation& best);

}  // namespace yoke
