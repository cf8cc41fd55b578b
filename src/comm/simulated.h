// Ranks in virtual time: one runs at a time, in the order of their clocks, so a run is
// deterministic and its times are those of the simulated machines. Ranks share the cores and the
// network card of their node.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/cost.h"
#include "base/random.h"
#include "comm/communicator.h"

namespace yoke {

class Timeline;  // comm/simulated/timeline.h

/// Seconds that a piece of work takes on a rank; used by Charge.
using ServiceTime = std::function<double(int rank, const Cost& cost)>;

/// Seconds that a pass over examples takes on a device of a rank, copies over its link included.
using DeviceTime = std::function<double(int rank, const Cost& cost, const WorkPlace& place)>;

/// Random factors of work's time, with mean 1: exponential, or log-normal with this sigma (of the
/// logarithm).
double ExponentialFactor(Random& random);
double LogNormalFactor(double sigma, Random& random);

/// Service time from operations and bytes at given rates.
ServiceTime SteadyService(double operations_per_second, double bytes_per_second);
/// The given mean times such a factor. Draws depend on seed, rank and count; work that takes no
/// time draws nothing.
ServiceTime ExponentialService(const ServiceTime& mean, uint64_t seed, int ranks);
ServiceTime LogNormalService(const ServiceTime& mean, double sigma, uint64_t seed, int ranks);

/// A node of a cluster whose nodes are unlike.
struct SimulatedNode {
  int cores = 0;  ///< As in SimulatedRanks, likewise the others.
  int cpu_threads = 0;
  double bytes_per_second = 1e18;  ///< Of its card.
  int kind = 0;                    ///< Nodes of unlike kinds differ in other ways, too.

  bool operator==(const SimulatedNode&) const = default;
};

/// Groups of nodes (racks, regions), each with a link to the others that its nodes share in each
/// direction: an uplink and a downlink.
struct NodeGroups {
  std::vector<int> group_of;             ///< By node.
  std::vector<double> bytes_per_second;  ///< Of a group's link, by group.
  double latency = 0;                    ///< Added to that of messages between two groups.
};

/// When the nodes of a simulated cluster die, and how the others go on.
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

/// Neighbouring ranks share a node, with its cores and its network card. The card sends one message
/// at a time and receives one at a time, in the order of sending: a message of n bytes takes
/// n / bytes_per_second of the sender's card and, `latency` later, of the receiver's; between
/// groups of nodes also of both groups' links. One packet (kPacket bytes) does not queue. What a
/// rank sends to itself arrives at once; what ranks of a node send each other is copied in its
/// memory. Not simulated: writes that are lost to races, because one task runs at a time.
struct SimulatedRanks {
  int ranks = 1;
  double timeout = 60;             ///< Maximum virtual seconds of one wait.
  double latency = 0;              ///< From card to card, in seconds.
  double bytes_per_second = 1e18;  ///< Of a card, in each direction.
  ServiceTime service = nullptr;   ///< Null: work takes no time.
  /// Messages that leave or reach a card at once share it evenly, as connections of TCP do, in
  /// place of one after another. For some dozens of nodes: see FairLinks for its cost.
  bool fair_links = false;
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::kAuto;  ///< The world's default.
  int ranks_per_node = 1;
  /// Charges of a node that run at once; others take turns of kTurn seconds
  /// (longer ones of work of more than 100 s). 0: any number.
  int cores = 0;
  /// The fraction of a core that a rank's waiting threads take, because they poll (one at a time,
  /// as over MPI). It slows charges down where no core is free.
  double polling = 0;
  /// Sending a message copies it once, on a core, at this speed; receiving that of another rank
  /// does so again.
  double copy_bytes_per_second = 1e18;
  /// The time of passes over examples on named devices; null: `service` times them all, as on one
  /// CPU. Strategies' arithmetic is timed by `service` in any case.
  DeviceTime devices = nullptr;
  int cpu_threads = 0;  ///< Of a rank's CPU, for executors whose threads work apart.
  /// Not 0: each rank computes on a device of its own, which copies to and from the host's memory
  /// at this speed; `service` does not see these bytes. 0: ranks compute in the host's memory.
  double device_bytes_per_second = 0;
  /// The nodes, if they are unlike, in place of cores, cpu_threads and bytes_per_second.
  std::vector<SimulatedNode> nodes = {};
  std::vector<int> node_of = {};  ///< By rank, if the nodes have unlike counts of ranks.
  /// Inner ones first: racks, then regions. They have no effect with fair_links.
  std::vector<NodeGroups> groups = {};
  /// A collective of more ranks than this, which all wait for all, is one event, priced by the
  /// rounds of its messages (comm/collective_schedules.h). Not with fair_links.
  int collective_events_above = 1024;
  Timeline* timeline = nullptr;     ///< Not null: records who computes, waits and sends.
  SimulatedFailures failures = {};  ///< Deaths of nodes: all ranks of one die together.

  static constexpr double kTurn = 1e-3;
  static constexpr double kPacket = 1500;
  int Nodes() const { return NodeOf(ranks - 1) + 1; }
  int NodeOf(int rank) const { return node_of.empty() ? rank / ranks_per_node : node_of[rank]; }
  SimulatedNode NodeAt(int node) const {
    if (!nodes.empty()) return nodes[node];
    return {.cores = cores, .cpu_threads = cpu_threads, .bytes_per_second = bytes_per_second};
  }
};

/// A cluster of one rank: this one, at the speed of its own, on its node. No node dies.
SimulatedRanks Alone(SimulatedRanks cluster, int rank);

/// Runs body(world) once per rank and returns the virtual time at which the last one ended.
/// Exceptions as in RunThreads.
///
/// When a node dies, the tasks of its ranks unwind (RankDied); what they have sent arrives unless a
/// part of it was still on the way to the receiver. `failures.detection` later all waits of the
/// other ranks end with RankLost. When their bodies have let it propagate, they are called again in
/// the next world, unless one has returned. A rank whose body has returned cannot be lost. Throws
/// Error if no rank is left.
double Simulate(const SimulatedRanks& options,
                const std::function<void(const Communicator&)>& body);
/// The same with bodies that are told their place.
double SimulateLosses(
    const SimulatedRanks& options,
    const std::function<void(const Communicator& world, const SimulatedPlace& place)>& body);

}  // namespace yoke
