// ClusterNodes: the nodes of a cluster file, and the time that work takes on them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/value.h"
#include "comm/simulated.h"
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

/// Reads a [[nodes]] table of `file`, to whose folder its paths are relative. Throws UserError with
/// file and key.
NodeKind ReadNodes(const Value& table, const std::string& file);

/// The speed of each rank of these nodes, whose slow ones and jitter the seed draws.
class NodeSpeeds {
 public:
  NodeSpeeds(const std::vector<NodeKind>& kinds, uint64_t seed);
  double Seconds(int rank, const Cost& cost, const WorkPlace& place);

 private:
  struct Rank {
    size_t kind = 0;
    double factor = 1;
    Random random;
  };

  std::vector<NodeKind> kinds_;
  std::vector<Rank> ranks_;
};

}  // namespace yoke
