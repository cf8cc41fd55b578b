// ClusterFile: a cluster to simulate, as a file describes it: its nodes, its network, its price.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/simulated.h"
#include "measure/cluster_failures.h"
#include "measure/cluster_nodes.h"

namespace yoke {

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
