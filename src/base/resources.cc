// Resources: control groups from files below /proc and /sys, cores from the affinity mask, memory
// from the machine, and malloc's thresholds.
// FindGroupLimits reads the limits on the way from this process's groups to the root of each
// hierarchy. A container may see the host's hierarchy, where its own group's path leads to its
// limits, or its own alone, where they are at the root and that path leads nowhere.
#include "base/resources.h"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// The number that a file begins with; 0 where there is none ("max", no such file).
double NumberIn(const fs::path& file) {
  double number = 0;
  return std::ifstream(file) >> number ? number : 0;
}

void LimitCores(GroupLimits& limits, double quota, double period) {
  if (quota > 0 && period > 0) limits.cores = std::min(limits.cores, quota / period);
}

/// A file of one version is not there in the other, nor in other controllers' hierarchies.
void ReadGroup(GroupLimits& limits, const fs::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period) LimitCores(limits, quota, period);
  LimitCores(limits, NumberIn(group / "cpu.cfs_quota_us"), NumberIn(group / "cpu.cfs_period_us"));
  for (const char* file : {"memory.max", "memory.limit_in_bytes"})
    if (const double bytes = NumberIn(group / file); bytes > 0 && bytes < double(limits.memory))
      limits.memory = static_cast<int64_t>(bytes);
}

/// Where the hierarchy of these controllers ("cpu,cpuacct") may be mounted; version 2 names none.
std::vector<fs::path> Mounts(const fs::path& mounts, const std::string& controllers) {
  if (controllers.empty()) return {mounts, mounts / "unified"};
  std::vector<fs::path> found = {mounts / controllers};
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) found.push_back(mounts / name);
  return found;
}

int AffinityCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

GroupLimits FindGroupLimits(const std::string& root) {
  const fs::path folder = root;
  GroupLimits limits;
  std::ifstream groups(folder / "proc/self/cgroup");
  std::string number, controllers, path;
  while (std::getline(groups, number, ':') && std::getline(groups, controllers, ':') &&
         std::getline(groups, path))
    for (const fs::path& mount : Mounts(folder / "sys/fs/cgroup", controllers)) {
      ReadGroup(limits, mount);
      for (fs::path group = fs::path(path).relative_path(); !group.empty();
           group = group.parent_path())
        ReadGroup(limits, mount / group);
    }
  return limits;
}

int QuotaCores() {
  const double cores = FindGroupLimits().cores;
  return std::isfinite(cores) ? std::max(1, static_cast<int>(std::lround(cores))) : 0;
}

int UsableCores() {
  const int affinity = std::max(1, AffinityCores());
  const int quota = QuotaCores();
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

int64_t UsableMemory() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(machine, FindGroupLimits().memory);
}

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as far as malloc's own goes
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

}  // namespace yoke
