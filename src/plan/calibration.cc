// Calibration: the price of the job as it is, and a trial.
#include "plan/calibration.h"

#include <algorithm>
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
    return Hardware(job, trial.data, machines)
        .Of({.executor = job.node.String("executor"), .precision = job.node.String("precision")})
        .seconds_per_update;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

double Calibrate(const Job& job, const TrialRequest& trial, double example_seconds,
                 std::map<std::string, ClusterFile>& machines) {
  const auto known = machines.find(job.node.String("precision"));
  if (known == machines.end() || !SharesCores(known->second)) return 1;
  const double price = PriceOf(job, trial, machines);
  if (price == 0) return 1;
  if (example_seconds == 0) {
    const Trial tried = RunTrial(job, trial);
    std::filesystem::remove_all(trial.folder);
    if (!tried.failure.empty()) return 1;
    example_seconds = tried.seconds_per_example;
  }
  const double factor = std::max(1.0, example_seconds * ExamplesPerUpdate(job) / price);
  for (auto& [precision, cluster] : machines) cluster = Slowed(cluster, factor);
  return factor;
}

}  // namespace yoke
