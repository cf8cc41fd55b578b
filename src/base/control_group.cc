// FindGroupLimits: reads the limits on the way from this process's groups to the root of each
// hierarchy. A container may see the host's hierarchy, where its own group's path leads to its
// limits, or its own alone, where they are at the root and that path leads nowhere.
#include "base/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
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

}  // namespace

GroupLimits FindGroupLimits(const fs::path& root) {
  GroupLimits limits;
  std::ifstream groups(root / "proc/self/cgroup");
  std::string number, controllers, path;
  while (std::getline(groups, number, ':') && std::getline(groups, controllers, ':') &&
         std::getline(groups, path))
    for (const fs::path& mount : Mounts(root / "sys/fs/cgroup", controllers)) {
      ReadGroup(limits, mount);
      for (fs::path group = fs::path(path).relative_path(); !group.empty();
           group = group.parent_path())
        ReadGroup(limits, mount / group);
    }
  return limits;
}

}  // namespace yoke
