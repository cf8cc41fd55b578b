// What programs and commands share that train: open keys are chosen, a divergence is an error, and
// clusters are simulated.
#pragma once

#include <string>

#include "measure/cluster_file.h"
#include "train/events.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

/// Trains with a planner for the keys that the job leaves open. `cluster`: as for MakePlanner.
/// Throws WorldError if training diverged.
EndEvent RunJob(const Job& job, RunRequest request, const ClusterFile* cluster = nullptr);

/// The cluster of a file, for RunRequest::cluster.
SimulatedCluster ClusterOf(const ClusterFile& file, const Job& job, bool times_only);

/// Sets cluster.replicas. Throws UserError if the overrides say another number; `why`: "mpirun
/// started 4 processes, and each is a replica".
void SetReplicas(int replicas, const std::string& why, Overrides& keys);
/// The replicas of a cluster file; `path` names it.
void SetReplicasOfCluster(const ClusterFile& cluster, const std::string& path, Overrides& keys);

}  // namespace yoke
