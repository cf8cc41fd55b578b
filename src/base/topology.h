// Topology: the machine's cores, caches and memory nodes, and the assignment of this process's
// compute threads to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yoke {

/// One hardware thread.
struct Place {
  int id = 0;     ///< The operating system's processor number.
  int core = 0;   ///< The core; several hardware threads may share it.
  int node = 0;   ///< The memory node.
  int cache = 0;  ///< The last cache, which neighbouring cores share.

  bool operator==(const Place&) const = default;
};

/// A cache level, as seen by the first core.
struct CacheInfo {
  int level = 0;
  int64_t bytes = 0;
  int shared_by = 0;  ///< Number of logical processors that share it.
  int count = 0;      ///< Number of such caches in the machine.
};

/// The whole machine, including processors that this process may not use.
struct Topology {
  std::vector<Place> places;  ///< Ordered by node, then core.
  int allowed = 0;            ///< Number of places in the cpuset.
  int cores = 0;              ///< Physical cores.
  int nodes = 0;              ///< Memory nodes.
  std::vector<CacheInfo> caches;
};
/// The topology found by hwloc; if it finds none, every processor counts as a core.
Topology FindTopology();
/// Version of the loaded library: "2.9.0".
std::string HwlocVersion();

/// The rank of this process among those that the launcher started on this machine.
struct LocalRank {
  int rank = 0;
  int size = 1;
};
/// From the environment of Open MPI, MPICH or Slurm.
LocalRank FindLocalRank();
/// Among all ranks of this machine, of `inside` among several ranks of this process.
LocalRank OnThisMachine(const LocalRank& inside);

/// The part of the machine that this process may use.
struct Allowance {
  std::vector<int> mask;  ///< Ids of the places in its affinity mask.
  int quota = 0;          ///< Number of cores by the cgroup quota; 0: no limit.
  LocalRank rank = {};
};
Allowance FindAllowance();

/// Requested number of threads (0: one per core of this process), and whether they may be bound to
/// places.
struct ThreadRequest {
  int threads = 0;
  bool pin = true;
  LocalRank inside = {};  ///< The requesting rank among several ranks of this process.
};

/// The number of compute threads and their places.
struct ThreadPlan {
  int threads = 1;
  /// One per thread, ordered by node and core; more: threads share them; empty: not bound.
  std::vector<Place> places;
  std::string reason;  ///< A sentence on why threads are bound or not.
};
/// Uses physical cores first, then their other hardware threads. Ranks that share a mask take
/// blocks of it; a rank with fewer threads than cores may use its whole block. Otherwise threads
/// are bound only if they fill the cores. If the cores of other ranks are unknown, a quota limits
/// the cores, or cores stay free for other programs, bound threads of two processes could end up on
/// the same core; then the system schedules better.
ThreadPlan PlanThreads(const Topology& topology, const Allowance& allowance,
                       const ThreadRequest& request);
/// The plan for this process on this machine.
ThreadPlan PlanThreads(const ThreadRequest& request);

/// Divides a plan's threads into `parts` teams of neighbours. Sizes differ by at most one, and each
/// team has at least one thread and is on as few memory nodes as possible.
std::vector<ThreadPlan> Divide(const ThreadPlan& plan, int parts);

/// Binds the calling thread, and threads that it starts from then on, to all of a plan's places;
/// the destructor undoes it. Beyond that, threads of its team take the places that share their own
/// one's memory node and last cache (TakePlace): a thread stays near the memory that it has touched
/// first. Not its own place alone: beside another busy program, a thread that may not leave a busy
/// core holds up its team, which makes steps two times slower (docs/processors.md), and a team that
/// shrinks and grows starts threads that inherit the mask of the one that starts them. A team of
/// one is bound to its core.
class Binding {
 public:
  explicit Binding(const ThreadPlan& plan);
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  /// That of this thread whose team's threads have places of their own; null: none.
  static const Binding* OfTeam();
  /// Binds the calling thread, number `number` of the team of the thread that made this. Number 0,
  /// and those beyond the plan's, have all places.
  void TakePlace(int number) const;

 private:
  const std::vector<int>& PlacesOf(int number) const;

  std::vector<int> before_;  ///< The mask to restore; empty: nothing was bound.
  std::vector<int> all_;
  std::vector<std::vector<int>> of_threads_;  ///< Empty: all share a node and a cache.
};

/// Binds the calling thread as thread `leader` of this process is, once a Binding has placed it.
void LeavePlace(int leader);

}  // namespace yoke
