// Launcher peers: the other processes of a launcher, which train and measure along while rank 0
// plans.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "measure/cluster_file.h"
#include "plan/world_profile.h"
#include "train/events.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

struct Trial;  // plan/trials.h

/// What rank 0 asks of the others.
class LauncherPeers {
 public:
  /// `world`: all processes of the run's launcher. All must outlive it.
  LauncherPeers(const Communicator& world, const DataSets& data, const RunRequest& run)
      : world_(world), data_(data), run_(run) {}

  /// Like Train, on all processes: each is a replica. Where a signal to another process stops it,
  /// or a process is lost, it ends the work of WithPeers.
  EndEvent Train(const Job& job, RunRequest request) const;
  /// Trials of jobs of one replica, of so many steps: each on a process of its own, in their order.
  /// They have loss, seconds, failure and refused alone. At most as many as processes.
  std::vector<Trial> TrainApart(const std::vector<Job>& jobs, int64_t steps) const;
  /// Like MeasureMachines, on all processes.
  std::map<std::string, ClusterFile> Measure(const Job& job, const Reader& data,
                                             const std::vector<std::string>& precisions,
                                             Measuring measuring) const;

 private:
  const Communicator& world_;
  const DataSets& data_;
  const RunRequest& run_;
};

struct PeerResult {
  Value value;     ///< What the work has returned.
  int signal = 0;  ///< Not 0: a signal to another process than rank 0 has ended it.
};

/// Runs work() on rank 0 of the run's launcher, while the other processes do what it asks of them.
/// Returns the same on all processes. If it throws, or the jobs of the processes differ, all throw.
/// Without a launcher it gets no peers: null. `mine`: the job of this process.
PeerResult WithPeers(const Job& mine, const DataSets& data, const RunRequest& run,
                     const std::function<Value(const LauncherPeers*)>& work);

}  // namespace yoke
