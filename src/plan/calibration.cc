// Calibration: the price of the job as it is, and a trial.
#include "plan/calibration.h"

#include <filesystem>

#include "base/check.h"
#include "plan/hardware.h"

namespace yoke {
namespace {

bool SharesCores(const ClusterFile& cluster) {
  const NodeKind& node = cluster.kinds[0];
  return cluster.Nodes() == 1 && node.cores > 0 && node.ranks > node.cores;
}

/// An update's seconds; 0: it has no price.
double PriceOf(const Job& job, const TrialRequest& trial,
               const std::map<std::string, ClusterFile>& machines) {
  try {
    return Hardware(job, trial.data, machines, trial.folder)
        .Of({.executor = job.node.String("executor"), .precision = job.node.String("precision")})
        .seconds_per_update;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

void Calibrate(const Job& job, const TrialRequest& trial, double example_seconds,
               std::map<std::string, ClusterFile>& machines) {
  const auto known = machines.find(job.node.String("precision"));
  if (known == machines.end() || !SharesCores(known->second)) return;
  const double price = PriceOf(job, trial, machines);
  if (price == 0) return;
  if (example_seconds == 0) {
    example_seconds = RunTrial(job, trial).seconds_per_example;
    std::filesystem::remove_all(trial.folder);
  }
  const double update = example_seconds * ExamplesPerUpdate(job);
  if (update <= price) return;
  for (auto& [precision, cluster] : machines) cluster = Slowed(cluster, update / price);
}

}  // namespace yoke
