// RunLimits: compares progress with the limits.
#include "train/run_limits.h"

#include <algorithm>
#include <limits>

#include "train/job/keys.h"

namespace yoke {

double TimeLimitOf(const Job& job) {
  if (!job.train.Has("time_limit")) return 0;
  return ParseDuration(job.train.String("time_limit"), "train.time_limit");
}

RunLimits::RunLimits(const Job& job, const RunRequest& request)
    : steps_(request.steps),
      seconds_(TimeLimitOf(job)),
      used_(request.time_used),
      pause_epochs_(request.pause_epochs),
      pause_seconds_(request.pause_seconds),
      every_steps_(job.checkpoint.Int("every_steps")),
      every_epochs_(job.checkpoint.Int("every_epochs")),
      every_seconds_(60 * job.checkpoint.Float("every_minutes")) {
  const Value& every = job.train.Raw("evaluate_every");
  if (every.AsTable())
    evaluate_steps_ = Options("train.evaluate_every", every, evaluate_every_keys()).Int("steps");
  else
    evaluate_epochs_ = job.train.Int("evaluate_every");
}

std::string RunLimits::ReasonToStop(int64_t steps, double seconds) const {
  if (steps_ > 0 && steps >= steps_) return "step_limit";
  return seconds_ > 0 && used_ + seconds >= seconds_ ? "time_limit" : "";
}

int64_t RunLimits::StepsOfRound(int64_t done, int64_t taken) const {
  int64_t steps = std::numeric_limits<int64_t>::max();
  for (const int64_t every : {every_steps_, evaluate_steps_})
    if (every > 0) steps = std::min(steps, every - done % every);
  return steps_ > 0 ? std::min(steps, steps_ - taken) : steps;
}

bool RunLimits::IsDueAfterSteps(int64_t done) const {
  return every_steps_ > 0 && done % every_steps_ == 0;
}

bool RunLimits::IsDueAfterEpochs(int64_t done) const {
  return every_epochs_ > 0 && done % every_epochs_ == 0;
}

bool RunLimits::EvaluationIsDueAfterSteps(int64_t done) const {
  return evaluate_steps_ > 0 && done > 0 && done % evaluate_steps_ == 0;
}

bool RunLimits::EvaluationIsDueAfterEpochs(int64_t done) const {
  return evaluate_epochs_ > 0 && done % evaluate_epochs_ == 0;
}

bool RunLimits::PauseIsDue(int64_t epochs, double seconds) const {
  return (pause_epochs_ > 0 && epochs >= pause_epochs_) ||
         (pause_seconds_ > 0 && seconds >= pause_seconds_);
}

bool RunLimits::IsDueAfterSeconds(double since) const {
  return every_seconds_ > 0 && since >= every_seconds_;
}

}  // namespace yoke
