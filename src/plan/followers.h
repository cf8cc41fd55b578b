// Followers: the other processes of a launcher, which train and measure along while rank 0 plans.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "node/cluster_file.h"
#include "plan/world_profile.h"
#include "train/trainer.h"

namespace yoke {

/// What rank 0 asks of the others.
class Followers {
 public:
  /// `world`: all processes of `launched`. Both must outlive it.
  Followers(const Communicator& world, MpiJob& launched) : world_(world), launched_(launched) {}

  /// Like Train, on all processes: each is a replica. Where a signal to another process stops it,
  /// or a process is lost, it ends the work of WithFollowers.
  EndEvent Train(const Job& job, RunRequest request) const;
  /// Like MeasureMachines, on all processes.
  std::map<std::string, ClusterFile> Measure(const Job& job, const Reader& data,
                                             const std::vector<std::string>& precisions,
                                             Measuring measuring) const;

 private:
  const Communicator& world_;
  MpiJob& launched_;
};

struct Led {
  Value result;    ///< What the work has returned.
  int signal = 0;  ///< Not 0: a signal to another process than rank 0 has ended it.
};

/// Runs work() on rank 0 of the run's launcher, while the other processes do what it asks of them.
/// Returns the same on all processes. If it throws, or the jobs of the processes differ, all throw.
/// Without a launcher it gets no followers: null. `mine`: the job of this process.
Led WithFollowers(const Job& mine, const DataSets& data, const RunRequest& run,
                  const std::function<Value(const Followers*)>& work);

}  // namespace yoke
