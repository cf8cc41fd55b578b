// ClusterFile: a cluster to simulate, as a file describes it: its nodes and their failures, its
// network, its price.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"
#include "comm/simulated.h"
#include "measure/cluster_nodes.h"

namespace yoke {

/// How the nodes fail, as [failures] says.
struct ClusterFailures {
  double mean_time_between = 0;  ///< Seconds of a node's life; 0: only what is stated happens.
  struct Death {
    int node = 0;  ///< From 0.
    double seconds = 0;
  };
  std::vector<Death> at;   ///< Further deaths, at stated times.
  double detection = 5;    ///< Seconds until the others know.
  double restart = 0;      ///< Seconds until the processes have formed a new world.
  bool replaces = false;   ///< The run goes back to its newest checkpoint, with all nodes.
  double replacement = 0;  ///< Seconds until the lost node is replaced.
  double checkpoint_bytes_per_second = 0;  ///< Of reading and writing; 0: they take no time.
};

/// Reads the table of a cluster with so many nodes. Throws UserError with file and key.
ClusterFailures ReadFailures(const Value& table, int nodes);

/// The failures of a simulation. `means`: seconds of a node's life, by node (0: as above). Lives
/// are exponential and drawn by the seed.
SimulatedFailures Simulated(const ClusterFailures& failures, std::vector<double> means,
                            uint64_t seed);

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
