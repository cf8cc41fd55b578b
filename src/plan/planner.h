// MakePlan: measures the machines, then searches; and the Planner of `auto`, which does it inside
// training.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "measure/cluster_file.h"
#include "plan/search.h"
#include "train/planner.h"

namespace yoke {

struct PlanOrder {
  const Job& job;
  const RunRequest& run;  ///< Stop signal, and the launcher's processes.
  Choices choices = {};
  const ClusterFile* cluster = nullptr;  ///< Null: this machine, or the launcher's world.
  std::string cluster_name = {};
  const LauncherPeers* peers = nullptr;  ///< Where a launcher started several processes.
  double profile_seconds = 3;            ///< For each precision.
  double example_seconds = 0;            ///< Of the default's training; 0: not known.
  double trial_seconds = 20;             ///< Of all trials; none with a cluster.
  /// As in SearchRequest, likewise the next.
  double trial_share = std::numeric_limits<double>::infinity();
  bool in_pause = false;  ///< As in SearchRequest, likewise the next.
  bool tunes_momentum = false;
  std::function<double(const Job&)> rate_of = nullptr;
  /// Divisions of the cores among parts, and among replicas.
  bool tries_parts = false, tries_replicas = false;
  bool omnivore = false;    ///< By Omnivore's optimizer as published.
  std::string folder = {};  ///< For runs.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

/// What `yoke plan` answers. Where a launcher started several processes all of them call it, and
/// only rank 0 gets the plan.
Plan MakePlan(const PlanOrder& order);

/// Measures the machines, unless `order` has a cluster, and searches. Trials continue the run
/// `from`;
/// "": they start from the beginning.
Plan MeasureAndSearch(const PlanOrder& order, const DataSets& data, const std::string& from);

/// Sets the order's shapes to those that it tries.
void OpenShapes(const DataSets& data, PlanOrder& order);

/// Whether any candidate has a price on the order's cluster.
bool HasPrices(const PlanOrder& order, const DataSets& data);

/// The same for trainings that are too short for it: CompareSpeeds.
Plan SearchBySpeed(const PlanOrder& order, const DataSets& data, const std::string& from);

/// For RunRequest::planner. `cluster`: the file of RunRequest::cluster, or null.
std::unique_ptr<Planner> MakePlanner(const ClusterFile* cluster = nullptr);

}  // namespace yoke
