// Resources: the cores and the memory that this process may use, what control groups (a
// container's, a service's, a batch job's) say of them, and keeping freed memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace yoke {

/// The least limits of a process's own groups and of those around them.
struct GroupLimits {
  double cores = std::numeric_limits<double>::infinity();
  int64_t memory = std::numeric_limits<int64_t>::max();  ///< In bytes.
};

/// Limits of this process, in versions 1 and 2 of control groups. The folders proc and sys are
/// looked for in `root`. Never fails: what is not found limits nothing.
GroupLimits FindGroupLimits(const std::string& root = "/");

/// Number of cores this process may use, by affinity mask and cgroup quota; at least 1.
int UsableCores();
/// Number of cores allowed by the cgroup quota; 0: no limit.
int QuotaCores();

/// Bytes of the machine's memory, or of its control group's limit where that is less.
int64_t UsableMemory();

/// Keeps blocks of some MB that are freed with the process: given back to the kernel they cost page
/// faults each time. That is 7 to 14 % of a step of LeNet over MPI, and, with AVX2 alone, where the
/// kernel library allocates what it packs, 10 % of one of ResNet-20. Call it early in main.
void KeepFreedMemory();

}  // namespace yoke
