// Copies: what a pass on a device costs besides, if the values lie on the host.
#pragma once

#include "base/cost.h"
#include "params/layout.h"

namespace yoke {

/// Bytes copied between the two memories: all values there, the dense gradient back.
inline double CopiedBytes(const ParamLayout& layout) {
  return 4.0 * static_cast<double>(layout.size() + layout.dense_size());
}

/// The same in the host's memory, by the caller: the values to where the device gets them, the
/// gradient from where it puts it.
inline Cost CostOfStaging(const ParamLayout& layout) { return {.bytes = 2 * CopiedBytes(layout)}; }

}  // namespace yoke
