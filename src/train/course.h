// Course: where training stands and which examples come next; the same on every rank.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "data/prefetch.h"
#include "optim/schedule.h"
#include "train/checkpoint.h"
#include "train/job.h"
#include "train/rounds.h"

namespace yoke {

/// Which of those that train share a step.
struct TeamPlace {
  int rank = 0;       ///< Within the team.
  int team = 1;       ///< Ranks in it.
  int world = 1;      ///< Ranks in all teams.
  bool reads = true;  ///< Else this rank only knows where the others are.
};

/// Throws UserError where there are more replicas that train than examples.
void RequireExamples(const Job& job, const Reader& data, int replicas);

class Course {
 public:
  /// How many threads of a rank read ahead where so many compute.
  static int ThreadsReadingAhead(int threads);

  /// `threads` that read ahead; what is passed must outlive it. Throws UserError where there are
  /// more replicas than examples.
  Course(const Job& job, const Reader& data, const TeamPlace& place, int threads);

  /// A sentence for who started it where an epoch has too little work for all replicas, else "".
  std::string Note() const;

  Position position;  ///< Of what all ranks have done; steps are those of teams.

  int64_t epochs() const { return job_.train.Int("epochs"); }
  /// Steps of one rank in a whole epoch, were all in step.
  int64_t StepsPerEpoch() const;

  /// Plans the epoch under way, unless that is done. From here on steps count from the plan's
  /// start.
  void PlanEpoch();
  bool planned() const { return plan_.has_value(); }
  /// What is consumed once these steps of the plan are done too.
  Ranges ConsumedWith(std::span<const int64_t> steps) const;
  int64_t done() const { return done_; }  ///< Steps of the plan, of all teams together.
  int64_t steps() const { return plan_->Steps(); }

  /// This rank's share of a step of the plan; valid until the next call. Steps come in increasing
  /// order.
  const Batch& Read(int64_t step);
  /// Examples of the whole team in that step.
  int64_t TeamExamples(int64_t step) const { return plan_->Examples(step); }
  /// Epochs done when the step begins, fractional, and the rate that it takes.
  double EpochsAt(int64_t step) const;
  double LearningRateAt(int64_t step) const;

  /// Steps up to `dealt` are done, by all ranks; the tallies are of the epoch so far.
  void Advance(int64_t dealt, std::span<const Tally> tallies);
  /// Of the plan under way, or as the last one left it.
  double EpochsDone() const;
  bool EpochIsOver() const { return done_ == steps(); }
  /// After the last step of the plan.
  void FinishEpoch();

 private:
  const Job& job_;
  const Reader& data_;
  TeamPlace place_;
  int threads_;
  std::unique_ptr<Schedule> schedule_;
  std::optional<EpochPlan> plan_;
  std::optional<Prefetch> ahead_;  // where every step is this rank's
  Batch batch_;
  int64_t done_ = 0;
  int64_t consumed_before_ = 0;  // examples, when the plan began
};

}  // namespace yoke
