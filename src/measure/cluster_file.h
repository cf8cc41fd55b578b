// ClusterFile: a cluster to simulate, as a file describes it: its nodes, its network, its price.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/simulated.h"
#include "measure/cluster_failures.h"
#include "node/speed_curve.h"

namespace yoke {

/// `count` equal nodes: one [[nodes]] table.
struct NodeKind {
  int count = 1;
  int ranks = 1;    ///< Replicas on each.
  int cores = 0;    ///< Charges that run at once; 0: any number.
  int threads = 0;  ///< Of a replica's CPU.
  double operations_per_second = 0;
  double bytes_per_second = 0;  ///< Of memory.
  /// By device of the job, in place of the two rates; "" is any device.
  std::map<std::string, SpeedCurve, std::less<>> curves = {};
  std::string jitter = "constant";
  double sigma = 0;
  double slow_fraction = 0;  ///< Of the nodes, which take slow_factor times as long.
  double slow_factor = 1;
  double network_bytes_per_second = 0;        ///< Of a node's card.
  std::optional<double> price_per_hour = {};  ///< Of a node.
  /// Of a node's failures, in seconds, in place of [failures]'.
  std::optional<double> mean_time_between = {};
};

struct ClusterFile {
  std::string title;
  std::vector<NodeKind> kinds;  ///< In the order of their nodes.
  double latency = 0;
  bool fair_links = false;
  double copy_bytes_per_second = 1e18;
  double polling = 0;
  std::vector<NodeGroups> groups;  ///< Racks, then regions.
  ClusterFailures failures;

  int Nodes() const;
  int Ranks() const;
  /// Of all nodes that have a price; 0: none has.
  double PricePerHour() const;
  /// A sentence if only some nodes have a price, or "".
  std::string PriceNote() const;
  /// The cluster; the seed draws its slow nodes, the times of its work and its failures.
  SimulatedRanks Simulated(uint64_t seed) const;
};

/// The same from a table already read; paths in it are relative to the folder of `path`.
ClusterFile ClusterOf(const Value& root, const std::string& path);
/// Reads a cluster (docs/simulate.md). Throws UserError with file and key.
ClusterFile ReadCluster(const std::string& path);

}  // namespace yoke
