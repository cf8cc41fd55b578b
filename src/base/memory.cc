// UsableMemory: the machine's memory and the limits of control groups.
#include "base/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>

#include "base/control_group.h"

namespace yoke {

int64_t UsableMemory() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(machine, FindGroupLimits().memory);
}

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as far as malloc's own goes
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

}  // namespace yoke
