// PlanJob: which ways to train a job are compared, and the plan as a table for programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/value.h"
#include "measure/cluster_file.h"
#include "plan/plan.h"
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

}  // namespace yoke
