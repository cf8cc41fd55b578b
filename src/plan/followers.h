// Followers: the other processes of a launcher, which train and measure along while rank 0 plans.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "node/cluster_file.h"
#include "train/trainer.h"

namespace yoke {

/// What rank 0 asks of the others.
class Followers {
 public:
  /// `world`: all processes of `launched`. Both must outlive it.
  Followers(const Communicator& world, MpiJob& launched) : world_(world), launched_(launched) {}

  /// Like Train, on all processes: each is a replica.
  EndEvent Train(const Job& job, RunRequest request) const;
  /// Like MeasureMachines.
  std::map<std::string, ClusterFile> Measure(const Job& job, const Reader& data,
                                             const std::vector<std::string>& precisions,
                                             double seconds) const;

 private:
  const Communicator& world_;
  MpiJob& launched_;
};

/// Runs work() on rank 0 of the run's launcher, while the other processes do what it asks of them.
/// Returns what it returns, on all processes. If it throws, all throw. Without a launcher it gets
/// no followers: null. `mine`: the job of this process.
Value WithFollowers(const Job& mine, const DataSets& data, const RunRequest& run,
                    const std::function<Value(const Followers*)>& work);

}  // namespace yoke
