// SimulatedFailures: when the nodes of a simulated cluster die, and how the others go on.
#pragma once

#include <functional>
#include <vector>

namespace yoke {

struct SimulatedFailures {
  /// The virtual time at which a life of a node ends that began at `born`; later than that,
  /// infinity if it does not end. Life 0 is the first one, further ones are those of its
  /// replacements. The same arguments give the same time. Null: no node dies.
  std::function<double(int node, int life, double born)> death = nullptr;
  /// Seconds from a death until the waits of the other ranks end.
  double detection = 5;
  /// After a death the other ranks go on, as over a wire: their waits end with RankLost, and bodies
  /// that let it propagate are called again. Otherwise a death is a failure of all.
  bool survive = true;
  /// Seconds from the end of a world, when its last rank has left it, to the start of the next one.
  double restart = 0;
  /// The next world has all ranks again: other nodes replace the dead ones. Otherwise it has the
  /// surviving ranks, in their old order.
  bool replace = false;
};

/// A rank in one of the worlds of a simulation.
struct SimulatedPlace {
  int world = 0;               ///< The world's number; the first is 0.
  int rank = 0;                ///< The rank's number in the first world.
  std::vector<int> lost = {};  ///< The ranks that were lost with the world before, numbered as
                               ///< in that world.
  int lost_nodes = 0;          ///< Nodes lost so far.
};

}  // namespace yoke
