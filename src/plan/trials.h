// Trial: a short training of a job, from where another run ended.
#pragma once

#include <string>
#include <vector>

#include "train/trainer.h"

namespace yoke {

struct TrialRequest {
  const DataSets& data;
  const RunRequest& run;    ///< Stop signal and cluster.
  std::string from = {};    ///< The run to continue; "": from the beginning.
  std::string folder = {};  ///< The trial's own run: new, or `from`.
  double seconds = 1;       ///< Of training.
};

/// The training loss over time.
struct LossPoint {
  double seconds = 0;   ///< Of training, since the trial's start.
  double examples = 0;  ///< In the trial so far.
  double loss = 0;      ///< Mean since the point before.
};

struct Trial {
  std::vector<LossPoint> curve;
  double seconds_per_example = 0;  ///< 0: it has taken too few steps to tell.
  double loss = 0;                 ///< Mean of the last third of its time.
  bool ended = false;              ///< The job has come to its end.
  std::string failure;             ///< Why it failed, or "".
};

/// Trains without evaluation, and leaves a checkpoint in `folder` with which the job can continue.
Trial RunTrial(const Job& job, const TrialRequest& request);

/// Seconds after which the loss, over a third of the time up to then, was first at most this;
/// infinite if it never was.
double TimeTo(const Trial& trial, double loss);

}  // namespace yoke
