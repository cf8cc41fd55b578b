// Hardware: the machine's hardware, for `yoke doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/topology.h"

namespace yoke {

struct Hardware {
  int usable = 0;    ///< Cores this process may use, by affinity and cgroup.
  int affinity = 0;  ///< Logical processors in the affinity mask.
  int physical = 0;
  int logical = 0;
  int memory_nodes = 0;  ///< NUMA nodes.
  ThreadPlan threads;    ///< The default thread plan of training.
  std::vector<CacheInfo> caches;
  int64_t memory = 0;                  ///< Total bytes,
  int64_t memory_available = 0;        ///< bytes free or reclaimable,
  int64_t memory_limit = 0;            ///< bytes allowed by the cgroup; 0: no limit.
  std::vector<std::string> gpus;       ///< Names reported by the driver.
  std::vector<std::string> launchers;  ///< Paths of programs that start MPI jobs.
};

/// Never fails: values that cannot be determined stay 0 or empty.
Hardware FindHardware();

}  // namespace yoke
