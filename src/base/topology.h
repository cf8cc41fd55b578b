// Topology: the machine's cores, caches and memory nodes, and which of them the compute threads of
// this process get.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yoke {

/// One hardware thread.
struct Place {
  int id = 0;    ///< As the system counts processors.
  int core = 0;  ///< Hardware threads of one core share it.
  int node = 0;  ///< The memory node it lies on.

  bool operator==(const Place&) const = default;
};

/// One cache of one level, as the first core sees it.
struct CacheInfo {
  int level = 0;
  int64_t bytes = 0;
  int shared_by = 0;  ///< Logical processors behind it.
  int count = 0;      ///< How many of them the machine has.
};

/// A machine, also what this process may not use.
struct Topology {
  std::vector<Place> places;  ///< Node by node, core by core.
  int allowed = 0;            ///< Places that the system lets anybody here use (cpuset).
  int cores = 0;              ///< Physical ones.
  int nodes = 0;              ///< Memory nodes.
  std::vector<CacheInfo> caches;
};
/// What hwloc finds; where it finds nothing, every processor is a core of its own.
Topology FindTopology();
/// The running library: "2.9.0".
std::string HwlocVersion();

/// Where this process stands among those that one launcher started on this machine.
struct LocalRank {
  int rank = 0;
  int size = 1;
};
/// From the environment of Open MPI, MPICH or Slurm.
LocalRank FindLocalRank();

/// What this process may use of its machine.
struct Allowance {
  std::vector<int> mask;  ///< Ids of the places of its affinity mask.
  int quota = 0;          ///< Cores by the control group's quota; 0: no limit.
  LocalRank rank = {};
};
Allowance FindAllowance();

/// Threads that are wanted (0: as many as this process has cores for itself), and whether they may
/// be bound to places.
struct ThreadRequest {
  int threads = 0;
  bool pin = true;
  LocalRank inside = {};  ///< Which of several ranks within this process asks.
};

/// How many threads compute, and where.
struct ThreadPlan {
  int threads = 1;
  std::vector<Place> places;  ///< One a thread, node by node; empty: wherever the system puts them.
  std::string reason;         ///< Why bound, or why not: a sentence.
};
/// Physical cores come first, then their further hardware threads; ranks that share a mask take
/// blocks of it. Threads are bound only when they fill their share of the cores: where other ranks'
/// cores are not known, a quota leaves cores to others, or cores stay free for other programs,
/// bound threads of two processes could meet on one core, and the system does better.
ThreadPlan PlanThreads(const Topology& topology, const Allowance& allowance,
                       const ThreadRequest& request);
/// For this process on this machine now.
ThreadPlan PlanThreads(const ThreadRequest& request);

/// A plan's threads dealt to `parts` teams, sizes differing by at most one (at least one thread
/// each), neighbours together: a team lies on as few memory nodes as possible.
std::vector<ThreadPlan> Divide(const ThreadPlan& plan, int parts);

/// Binds the calling thread, and those it starts from then on, to a plan's places as a whole;
/// undone when it goes. A team is not bound thread by thread: libgomp starts threads anew whenever
/// a team shrinks and grows again, they inherit the mask of the thread that starts them, and on a
/// single core they would all wait for each other. A team of one is bound to its core.
class Binding {
 public:
  explicit Binding(const ThreadPlan& plan);
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

 private:
  std::vector<int> before_;  ///< The mask to return to; empty: nothing was bound.
};

}  // namespace yoke
