// EpochCursor: the progress of training and the next examples; the same on every rank.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/prefetch.h"
#include "train/checkpoint/checkpoint.h"
#include "train/job/job.h"
#include "train/job/parts.h"
#include "train/metrics.h"
#include "train/step_totals.h"

namespace yoke {

/// A rank's place in its team. The ranks of a team share a step.
struct TeamPlace {
  int rank = 0;       ///< Rank in the team.
  int team = 1;       ///< Number of ranks in the team.
  int world = 1;      ///< Number of ranks in all teams.
  bool reads = true;  ///< False: this rank only follows the progress of the others.
};

/// Examples of one replica's step: train.batch, or those of a round of an executor that updates in
/// place. `epoch`: its examples of an epoch.
int64_t StepExamplesOf(const Job& job, int64_t epoch);

/// Throws UserError if more replicas train than there are examples.
void RequireExamples(const Job& job, const Reader& data, int replicas);

class EpochCursor {
 public:
  /// Number of a rank's threads that read ahead at first if this many compute.
  static int ThreadsReadingAhead(int threads);

  /// `threads` read ahead. The arguments must outlive it. Throws UserError if there are more
  /// replicas than examples.
  EpochCursor(const Job& job, const Reader& data, const TeamPlace& place, int threads);

  /// Examples of a rank's step: train.batch, or what the executor takes at a time.
  int64_t StepExamples() const { return step_examples_; }

  /// A sentence for the user if an epoch has too little work for all replicas, or "".
  std::string Note() const;

  Position position;       ///< Progress of all ranks together; counts steps of teams.
  bool as_stored = false;  ///< ReadRequest::as_stored of all it reads; set it before the first.

  int64_t epochs() const { return job_.train.Int("epochs"); }
  /// Steps of one rank in a whole epoch if all ranks were in step.
  int64_t StepsPerEpoch() const;
  /// Examples that each epoch leaves out (train.drop_last).
  int64_t LeftOut() const;

  /// Examples of the least part that a rank with work has of a whole epoch's last step; 0: as many
  /// as of the others.
  int64_t RestOfEpoch() const;

  /// Plans the current epoch unless it is already planned. From then on steps count from the plan's
  /// start.
  void PlanEpoch();
  bool planned() const { return plan_.has_value(); }
  /// The consumed ranges once these steps of the plan are also done.
  Ranges ConsumedWith(std::span<const int64_t> steps) const;
  int64_t done() const { return done_; }  ///< Steps of the plan done by all teams together.
  int64_t steps() const { return plan_->Steps(); }

  /// This rank's part of a step of the plan; valid until the next call. Call with increasing steps.
  const Batch& Read(int64_t step);
  /// The examples of that part, and reading any of them; Read is thread-safe.
  std::span<const int64_t> Part(int64_t step) const { return plan_->Part(step); }
  void Read(std::span<const int64_t> examples, Batch& batch) const;
  /// Number of examples of the whole team in that step.
  int64_t TeamExamples(int64_t step) const { return plan_->Examples(step); }
  /// Epochs done (fractional) at the start of the step, and its learning rate.
  double EpochsAt(int64_t step) const;
  double LearningRateAt(int64_t step) const {
    return rate_.After(EpochsAt(step), position.plateaus);
  }
  /// The highest learning rate of the schedule up to the step. Call with increasing steps.
  double HighestRateUpTo(int64_t step);

  /// Records that all ranks have done the steps up to `dealt`, with their totals of the epoch so
  /// far.
  void Advance(int64_t dealt, const std::vector<StepTotals>& all_totals);
  /// Epochs done in the current plan, or after the last one.
  double EpochsDone() const;
  bool EpochIsOver() const { return done_ == steps(); }
  /// What Read(step) has taken since the last call, of so many seconds; none: it was not called.
  std::optional<DataWait> TakeWait(double seconds) {
    if (waited_ == 0) return {};
    return DataWait{.part = std::exchange(waited_, 0) / seconds, .threads = threads_};
  }
  /// Call after the last step of the plan.
  void FinishEpoch();

 private:
  void RequireWholeStep() const;
  const Batch& Take(int64_t step);

  const Job& job_;
  const Reader& data_;
  TeamPlace place_;
  int threads_, most_threads_;  // that read ahead: now, and at most
  int64_t step_examples_;
  LearningRate rate_;
  std::optional<EpochPlan> plan_;
  std::optional<Prefetch> ahead_;  // used if every step is this rank's
  Batch batch_;
  double waited_ = 0;
  int64_t done_ = 0;
  int64_t consumed_before_ = 0;  // examples consumed when the plan began
  double highest_rate_ = 0;      // up to these epochs:
  double highest_until_ = 0;
};

}  // namespace yoke
