// Omnivore's optimizer as published: it chooses the number of compute groups, the learning rate and
// the momentum by trials (Hadjis, Zhang, Mitliagkas, Re, 2016, arXiv 1606.04487, section 5).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/planner.h"
#include "plan/tuning.h"

namespace yoke {

/// A number of compute groups with the rate and momentum of their server, and its trial.
struct GroupTrial {
  int groups = 1;
  TriedSetting tried = {};  ///< The loss is the mean of the trial's last ten steps.
  double seconds_per_update = 0;
  double seconds = 0;    ///< Of training.
  std::string run = {};  ///< Which can be continued.
  bool ended = false;    ///< The job has come to its end in it.
};

/// Trains with so many groups and a setting, for as long as all trials do.
using TryGroups = std::function<GroupTrial(int groups, const Setting& setting)>;

/// What a search has tried, in order, and the best of it.
struct GroupSearch {
  std::vector<GroupTrial> trials = {};
  int best = -1;        ///< In `trials`; -1: all have diverged.
  int most_groups = 1;  ///< Of a cold start: the most with which an update was 10 % faster.
};

/// The cold start. With 1 group momentum 0.9 and the rates 0.1, 0.01, 0.001, 0.0001; with more the
/// grid around the setting of fewer (GridAround), as long as an update becomes 10 % faster. The
/// best number of groups is the one with the lowest loss. `groups`: from 1 up.
GroupSearch FindColdStart(const std::vector<int>& groups, const TryGroups& attempt);

/// A search of the steady state, from the setting of the last one and with `groups` groups: the
/// grid around it; while the best momentum is 0, with half as many and from momentum 0.6.
GroupSearch FindSteadyState(int groups, const Setting& last, const TryGroups& attempt);

/// Trials of a cold start, at most.
int ColdStartTrials(const Job& job);

/// Whether this planner chooses the job's open keys (train.planner).
bool IsOmnivore(const Job& job);
/// Seconds of training between two of its searches (train.optimizer_epoch).
double OptimizerEpoch(const Job& job);

/// The searches on a job, in trials of `seconds` each, as plans: strategy compute_groups in the
/// paper's form, with the head served if the model has one and the CPU alone computes. Throws
/// UserError if the job's rule has no momentum, and Error if no trial has trained. A plan without
/// candidates: a signal has ended it.
struct OmnivoreOrder {
  const PlanOrder& order;
  const DataSets& data;
  double seconds = 0;
};
/// `most_groups` gets GroupSearch's.
Plan OmnivoreColdStart(const OmnivoreOrder& order, int& most_groups);
/// In a pause of the run `from`, whose job is the order's.
Plan OmnivoreSteadyState(const OmnivoreOrder& order, const std::string& from, int most_groups);

}  // namespace yoke
