// Hardware: what the machine has, for `yoke doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/topology.h"

namespace yoke {

struct Hardware {
  int usable = 0;    ///< What this process may use: affinity and cgroup.
  int affinity = 0;  ///< Logical processors of the affinity mask.
  int physical = 0;
  int logical = 0;
  int memory_nodes = 0;  ///< NUMA nodes.
  ThreadPlan threads;    ///< What training uses unless told otherwise.
  std::vector<CacheInfo> caches;
  int64_t memory = 0;                  ///< Bytes in all,
  int64_t memory_available = 0;        ///< free or reclaimable,
  int64_t memory_limit = 0;            ///< allowed by the cgroup; 0: no limit.
  std::vector<std::string> gpus;       ///< Names, as far as the driver tells them.
  std::vector<std::string> launchers;  ///< Paths of programs that start MPI jobs.
};

/// Looks; never fails: what cannot be found out stays 0 or empty.
Hardware FindHardware();

}  // namespace yoke
