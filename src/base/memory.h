// How much memory this process may use.
#pragma once

#include <cstdint>

namespace yoke {

/// Bytes of the machine's memory, or of its control group's limit where that is less.
int64_t UsableMemory();

}  // namespace yoke
