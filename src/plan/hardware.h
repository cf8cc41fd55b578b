// Hardware efficiency: how long an update of a candidate takes, without training.
#pragma once

#include <map>
#include <string>

#include "measure/cluster_file.h"
#include "plan/candidates.h"
#include "plan/statistics.h"

namespace yoke {

struct Price {
  double seconds_per_update = 0;
  double examples_per_update = 0;  ///< train.batch on each replica that trains.
  double epoch_seconds = 0;  ///< Between two epochs: a meeting, and a checkpoint if it is due.
  ExampleUse use = {};
};

/// The same cluster, whose replicas compute so many times as long.
ClusterFile Slowed(ClusterFile cluster, double factor);

class Hardware {
 public:
  /// `clusters`: the machines, by MachineKey: measured ones (MeasureMachines), or a file's. All
  /// must outlive it.
  Hardware(const Job& job, const DataSets& data,
           const std::map<std::string, ClusterFile>& clusters);

  /// One replica: by the executor's estimate. Several: the strategy runs some steps in virtual
  /// time, times only, with replicas as fast as the executor's estimate says, on all their devices.
  /// Throws UserError with the reason if it cannot be priced.
  Price Of(const Candidate& candidate) const;

 private:
  struct Node {
    double seconds = 0;  ///< Of a step with its update.
    ExampleUse use = {};
  };
  ClusterFile MachineOf(const Candidate& candidate) const;
  Node NodeOf(const Job& job, const ClusterFile& cluster) const;
  Price InVirtualTime(const Job& job, const ClusterFile& cluster, const ExampleUse& node) const;

  const Job& job_;
  const DataSets& data_;
  const std::map<std::string, ClusterFile>& clusters_;
};

}  // namespace yoke
