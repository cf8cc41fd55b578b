// UsableMemory: the machine's memory and the limits of control groups.
#include "base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace yoke {
namespace {

/// A number in a file such as memory.max; `otherwise` when there is none ("max").
int64_t NumberIn(const std::string& path, int64_t otherwise) {
  int64_t number = 0;
  return std::ifstream(path) >> number ? number : otherwise;
}

/// The least memory.max of this process's control group (version 2) and those around it.
int64_t GroupLimit(int64_t otherwise) {
  const std::filesystem::path root = "/sys/fs/cgroup";
  int64_t limit = NumberIn(root / "memory.max", otherwise);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::filesystem::path group = line.substr(4); !group.empty(); group = group.parent_path())
      limit = std::min(limit, NumberIn(root / group / "memory.max", otherwise));
  }
  return limit;
}

}  // namespace

int64_t UsableMemory() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const int64_t version_1 = NumberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes", machine);
  return std::min(GroupLimit(machine), version_1);
}

}  // namespace yoke
