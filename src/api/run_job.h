// Jobs, as programs and commands run and plan them: open keys are chosen, a divergence is an error,
// and clusters are simulated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/value.h"
#include "measure/cluster_file.h"
#include "plan/plan.h"
#include "train/events.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

inline constexpr const char* kReplicasKey = "cluster.replicas";
/// Whether a job that was loaded with this key open says it.
bool SaysReplicas(const Job& job);

struct PlanOptions {
  const ClusterFile* cluster = nullptr;   ///< Null: this machine, or the launcher's world.
  std::vector<std::string> only = {};     ///< Executors, strategies or precisions; empty: all.
  std::vector<std::string> without = {};  ///< Those to leave out.
  double trial_seconds = 20;              ///< Of all trials together; 0: none.
  bool keeps_replicas = false;            ///< On a cluster of one, as the job says.
  bool omnivore = false;                  ///< By Omnivore's optimizer as published.
  std::string folder;                     ///< For the runs of trials.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< Progress.
};

/// What `yoke plan` answers; `run` has the stop signal and the launcher's processes. Throws
/// UserError for a job that neither prices nor trials can decide.
Plan PlanJob(const Job& job, const PlanOptions& options, const RunRequest& run);

/// The plan as `yoke plan --json` gives it.
Table ToTable(const Plan& plan);

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
