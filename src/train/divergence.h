// Divergence: detects a loss that is finite but has exploded, and an evaluation that shows a ruined
// model although training goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/reader.h"
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

/// A loss counts as exploded from this multiple of the untrained model's loss on. Healthy runs stay
/// far below: a model that has learned nothing is near 1.
inline constexpr double kExplosion = 100;

/// Number of a rank's steps in its recent loss, a geometric mean with larger weights for later
/// steps, so that even a high spike is soon forgotten.
inline constexpr int64_t kRecentSteps = 16;
/// Minimum number of a rank's examples for the loss of the untrained model: its first step, or more
/// steps if that has fewer.
inline constexpr int64_t kFirstExamples = 16;

/// `untrained`: the loss of the run's first examples; 0: unknown. `recent`: that of the last
/// training steps, at least 1. `measured`: metrics after them on data that are not trained on; may
/// be empty. Both must have exploded: early spikes have passed by then, and a measured loss
/// alone may be due to a few odd examples. Losses below 1 count as 1, because a run may start from
/// a trained model.
bool Exploded(double untrained, double recent, const Metrics& measured);

/// The loss over all outputs of a model that knows nothing, for losses of an evaluation: log 2 a
/// label of multi-label data, where hashed layers train on few of the labels; `untrained` if that
/// is larger.
double LossOverAll(double untrained, const DataInfo& data);

}  // namespace yoke
