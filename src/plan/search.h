// Search: prices every candidate, lets the leading ones train for a while, and chooses.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "measure/cluster_file.h"
#include "plan/peers.h"
#include "plan/plan.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

/// All that is referred to must outlive the search.
struct SearchRequest {
  const Job& job;
  const DataSets& data;
  const RunRequest& run;                               ///< Stop signal, and the cluster of trials.
  const LauncherPeers* peers = nullptr;                ///< Null: replicas are threads.
  const std::map<std::string, ClusterFile>& machines;  ///< By precision.
  Choices choices = {};
  double noise_scale = 0;      ///< 0: unknown, taken to be large.
  Efficiency efficiency = {};  ///< By which leaders are chosen; trials rank only the others again.
  double trial_seconds = 0;    ///< Of all trials together; 0: none, the prediction decides.
  /// And of the fastest candidate's predicted time, at most.
  double trial_share = std::numeric_limits<double>::infinity();
  double update_seconds = 0;    ///< Of the default, as measured; 0: not known.
  double restart_seconds = 0;   ///< That each trial takes besides, to go on from a checkpoint.
  bool tunes_momentum = false;  ///< Also chooses the momentum.
  /// The learning rate that fits a candidate's job by trials of others; 0: not known. Null: all
  /// have the job's.
  std::function<double(const Job&)> rate_of = nullptr;
  std::string from = {};    ///< The run that trials continue; "": they start from the beginning.
  bool in_pause = false;    ///< Of `from`, whose parts stay unless trials tell otherwise.
  std::string folder = {};  ///< For runs.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< Progress.
};

/// Leaders are the four with the shortest predicted time, and the default unless its own is more
/// than three times as long. They train in rounds,
/// each twice as long as the one before, from where they are; after a round the better half goes
/// on, and the default in any case (successive halving: Jamieson and Talwalkar, 2016). The best one
/// is chosen if it reaches the default's loss in 95 % of its time or less, otherwise the default.
///
/// Momentum: candidates whose server gets late gradients are tried with the explicit momentum that
/// leaves the total as the job has it. Rate and momentum of the chosen one are tuned; if that is
/// such a candidate and its best momentum is 0, one of its strategy with half of the staleness
/// takes its place, if its loss is lower (Omnivore halves g: Hadjis et al., 2016, section 5.2).
///
/// Trials measure the job's efficiency against the synchronous one of them (MeasuredUses), and
/// those that were not tried are priced again by it.
Plan Search(const SearchRequest& request);

}  // namespace yoke
