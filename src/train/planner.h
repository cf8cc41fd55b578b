// Planner: chooses what a job leaves open. The folder plan implements it, above train, because it
// trains to find out.
#pragma once

#include <string>
#include <vector>

#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

/// A job without open keys, and how it was found.
struct Decision {
  Job job;
  /// A run with steps of this job, to continue; "": there is none. The planner removes it when it
  /// ends.
  std::string progress = {};
  std::string plan = {};                   ///< The text of plan.toml, for the run's record.
  std::vector<std::string> messages = {};  ///< Sentences for the user.
  double seconds = 0;  ///< Of all trials, on a simulated cluster: its clock goes on from there.
  int signal = 0;      ///< Not 0: this signal has ended the choice.
};

class Planner {
 public:
  virtual ~Planner() = default;
  /// Chooses `job.open`; `request` has the data. Where a launcher started several processes all of
  /// them call it, and get the same job; the rest of the decision is that of rank 0.
  virtual Decision Decide(const Job& job, const RunRequest& request) = 0;
  /// Seconds of training after which the run pauses to ask again, from its start or from the last
  /// pause; 0: it does not.
  virtual double PauseSeconds(const Job& /*job*/) const { return 0; }
  /// Asked when a run of `decision` has diverged, or pauses after train.replan_epochs: whether it
  /// goes on from its last checkpoint, with the job that `decision` has now. All processes of a
  /// launcher call it and get the same answer.
  virtual bool GoesOn(const EndEvent& /*end*/, Decision& /*decision*/) { return false; }
};

}  // namespace yoke
