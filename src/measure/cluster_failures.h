// ClusterFailures: how the nodes of a simulated cluster fail, as [failures] of a cluster file says.
#pragma once

#include <cstdint>
#include <vector>

#include "base/value.h"
#include "comm/simulated.h"

namespace yoke {

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

}  // namespace yoke
