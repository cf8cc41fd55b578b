// RunJob: the trainer with a planner.
#include "api/run_job.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/check.h"
#include "comm/wire_transport.h"
#include "plan/planner.h"
#include "simulate/simulate.h"
#include "train/trainer.h"

namespace yoke {

EndEvent RunJob(const Job& job, RunRequest request, const ClusterFile* cluster) {
  const std::unique_ptr<Planner> planner = MakePlanner(cluster);
  request.planner = planner.get();
  EndEvent end = Train(job, request);
  // The rank that led has the sentence.
  if (end.reason == "diverged")
    throw WorldError(end.sentence, end.exit_status, /*tell=*/!end.sentence.empty());
  return end;
}

SimulatedCluster ClusterOf(const ClusterFile& file, const Job& job, bool times_only) {
  return {.machines = file.Simulated(job.seed()),
          .simulate = Simulate,
          .title = file.title,
          .price_per_hour = file.PricePerHour(),
          .checkpoint_bytes_per_second = file.failures.checkpoint_bytes_per_second,
          .times_only = times_only};
}

void SetReplicas(int replicas, const std::string& why, Overrides& keys) {
  const std::string size = std::to_string(replicas);
  for (const Override& given : keys)
    Require(given.key != "cluster.replicas" || given.value == size, "{}: {}; leave it out",
            given.flag, why);
  keys.push_back({.key = "cluster.replicas", .value = size});
}

void SetReplicasOfCluster(const ClusterFile& cluster, const std::string& path, Overrides& keys) {
  SetReplicas(cluster.Ranks(),
              fmt::format("{} describes {} replica{}", path, cluster.Ranks(),
                          cluster.Ranks() == 1 ? "" : "s"),
              keys);
}

}  // namespace yoke
