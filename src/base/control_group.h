// What control groups (a container's, a service's, a batch job's) let this process use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace yoke {

/// The least limits of a process's own groups and of those around them.
struct GroupLimits {
  double cores = std::numeric_limits<double>::infinity();
  int64_t memory = std::numeric_limits<int64_t>::max();  ///< In bytes.
};

/// Limits of this process, in versions 1 and 2 of control groups. The folders proc and sys are
/// looked for in `root`. Never fails: what is not found limits nothing.
GroupLimits FindGroupLimits(const std::filesystem::path& root = "/");

}  // namespace yoke
