// Hardware: hwloc for cores and caches, /proc and /sys for the rest.
#include "cli/hardware.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/parallel.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

/// The whole machine, also what this process may not use.
Topology LoadTopology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owner(topology);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) return nullptr;
  return owner;
}

void FindCores(hwloc_topology_t topology, Hardware& found) {
  found.physical = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  found.logical = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  found.memory_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  for (hwloc_obj_t o = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0); o; o = o->parent) {
    if (!hwloc_obj_type_is_dcache(o->type)) continue;
    found.caches.push_back({.level = static_cast<int>(o->attr->cache.depth),
                            .bytes = static_cast<int64_t>(o->attr->cache.size),
                            .shared_by = hwloc_bitmap_weight(o->cpuset),
                            .count = hwloc_get_nbobjs_by_type(topology, o->type)});
  }
}

int AffinityCount() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// Bytes of a "Key:   123 kB" line of /proc/meminfo.
int64_t MemInfo(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key + ":", 0) == 0) return std::atoll(line.c_str() + key.size() + 1) * 1024;
  return 0;
}

/// A number alone in a file; 0 when there is none ("max").
int64_t NumberIn(const std::string& path) {
  std::ifstream in(path);
  int64_t number = 0;
  return in >> number ? number : 0;
}

/// The cgroup's limit (version 2, then 1), unless it is as good as none.
int64_t MemoryLimit(int64_t memory) {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const int64_t limit = NumberIn(path);
    if (limit > 0 && limit < memory) return limit;
  }
  return 0;
}

/// The text behind "Model:" in a driver's information file.
std::string ModelIn(const fs::path& information) {
  std::ifstream in(information);
  for (std::string line; std::getline(in, line);)
    if (line.rfind("Model:", 0) == 0) return line.substr(line.find_first_not_of(" \t", 6));
  return "NVIDIA GPU";
}

std::vector<std::string> FindGpus() {
  std::vector<std::string> gpus;
  std::error_code ignored;
  for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    gpus.push_back(ModelIn(gpu.path() / "information"));
  for (int i = 0; gpus.empty() && fs::exists("/dev/nvidia" + std::to_string(i)); ++i)
    gpus.emplace_back("NVIDIA GPU");
  if (gpus.empty() && fs::exists("/dev/kfd")) gpus.emplace_back("AMD GPU");
  return gpus;
}

std::vector<std::string> FindLaunchers() {
  std::vector<std::string> found;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"mpirun", "mpirun.openmpi", "mpirun.mpich", "srun"})
      if (const std::string file = folder + "/" + name; access(file.c_str(), X_OK) == 0)
        found.push_back(file);
  return found;
}

}  // namespace

Hardware FindHardware() {
  Hardware found;
  if (const Topology topology = LoadTopology()) FindCores(topology.get(), found);
  found.usable = UsableCores();
  found.affinity = AffinityCount();
  found.memory = MemInfo("MemTotal");
  found.memory_available = MemInfo("MemAvailable");
  found.memory_limit = MemoryLimit(found.memory);
  found.gpus = FindGpus();
  found.launchers = FindLaunchers();
  return found;
}

}  // namespace yoke
