// RunLimits: when a run stops before its last epoch, and when its checkpoints and evaluations are
// due.
#pragma once

#include <cstdint>
#include <string>

#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

/// train.time_limit in seconds; 0: none.
double TimeLimitOf(const Job& job);

/// Of the job's keys and the request. A session is the training of one command.
class RunLimits {
 public:
  RunLimits(const Job& job, const RunRequest& request);

  /// Why the run stops after so many steps and seconds of this session: "step_limit", "time_limit",
  /// or "": it does not.
  std::string ReasonToStop(int64_t steps, double seconds) const;
  /// Whether keys are to be chosen again after so many whole epochs and seconds of this session.
  bool PauseIsDue(int64_t epochs, double seconds) const;
  /// Most steps of a round that begins after `done` steps of the run, of which `taken` in this
  /// session: a checkpoint or an evaluation due by steps ends a round, and so does the limit of
  /// steps.
  int64_t StepsOfRound(int64_t done, int64_t taken) const;

  /// Whether a checkpoint is due after so many steps of the run, whole epochs of it, or seconds
  /// since the last one.
  bool IsDueAfterSteps(int64_t done) const;
  bool IsDueAfterEpochs(int64_t done) const;
  bool IsDueAfterSeconds(double since) const;

  /// Whether evaluations are counted in steps of the run, not in epochs.
  bool EvaluatesBySteps() const { return evaluate_steps_ > 0; }
  /// Whether an evaluation is due after so many steps of the run, or whole epochs of it. The last
  /// one is always due.
  bool EvaluationIsDueAfterSteps(int64_t done) const;
  bool EvaluationIsDueAfterEpochs(int64_t done) const;

 private:
  int64_t steps_;   // 0: no limit, likewise the others
  double seconds_;  // of all sessions
  double used_;     // of these
  int64_t pause_epochs_;
  double pause_seconds_;
  int64_t every_steps_, every_epochs_;
  double every_seconds_;
  int64_t evaluate_steps_ = 0, evaluate_epochs_ = 0;
};

}  // namespace yoke
