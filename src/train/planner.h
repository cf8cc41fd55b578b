// Planner: chooses what a job leaves open. The folder plan implements it, above train, because it
// trains to find out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/job/job.h"
#include "train/trainer.h"

namespace yoke {

/// A job without open keys, and how it was found.
struct Decision {
  Job job;
  /// A run with steps of this job, to continue; "": there is none. The planner removes it when it
  /// ends.
  std::string progress = {};
  std::shared_ptr<const DataSets> data = {};  ///< What it has read; null: nothing.
  std::string plan = {};                      ///< The text of plan.toml, for the run's record.
  std::vector<std::string> messages = {};     ///< Sentences for the user.
  double seconds = 0;  ///< Of all trials, on a simulated cluster: its clock goes on from there.
};

class MpiJob;

class Planner {
 public:
  virtual ~Planner() = default;
  /// Chooses `job.open`. Where a launcher started several processes all of them call it, and get
  /// the same; `launched` is their job, otherwise null.
  virtual Decision Decide(const Job& job, const RunRequest& request, MpiJob* launched) = 0;
  /// Asked when a run of `decision` has ended, or pauses after train.replan_epochs: whether it goes
  /// on from its last checkpoint, with the job that `decision` has now. Not for processes of a
  /// launcher, nor on a simulated cluster.
  virtual bool GoesOn(const EndEvent& /*end*/, Decision& /*decision*/) { return false; }
};

}  // namespace yoke
