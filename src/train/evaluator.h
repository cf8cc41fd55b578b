// Evaluator: measures the model of a run on its validation and test data.
#pragma once

#include <atomic>
#include <cstdint>

#include "train/epoch_cursor.h"
#include "train/events.h"
#include "train/job/job.h"
#include "train/replica.h"
#include "train/session_clock.h"

namespace yoke {

/// The metrics of one evaluation.
struct Evaluated {
  Metrics validation = {}, test = {};  ///< Empty without such data, and if it was stopped.
  bool whole = true;                   ///< Of all examples, not of a sample.
  int64_t examples = 0;                ///< Number of the watched ones.

  /// Those that target and best look at: of the validation share if there is one.
  const Metrics& watched() const { return validation.empty() ? test : validation; }
};

/// What is told of an evaluation at this point of training.
EvaluationEvent EventOf(const Evaluated& evaluated, const EpochCursor& cursor,
                        const SessionClock& clock);

class Evaluator {
 public:
  /// Draws the samples of train.evaluate_examples, which depend on the seed alone. Throws UserError
  /// if that key or train.evaluate_every in steps has no effect on these data.
  Evaluator(const Job& job, const DataSets& data);

  /// Whether evaluations while training are of a sample.
  bool samples() const {
    return samples_.validation != all_.validation || samples_.test != all_.test;
  }
  /// On the samples or, if `all`, on all examples.
  Evaluated Evaluate(const Replica& replica, bool all, const std::atomic<int>* stop) const;

 private:
  DataSets all_, samples_;  // the same readers where no sample is drawn
};

}  // namespace yoke
