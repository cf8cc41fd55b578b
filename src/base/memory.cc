// UsableMemory: the machine's memory and the limits of control groups.
#include "base/memory.h"

#include <unistd.h>

#include <algorithm>

#include "base/control_group.h"

namespace yoke {

int64_t UsableMemory() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(machine, FindGroupLimits().memory);
}

}  // namespace yoke
