// Checksums that tell one data set from another.
#pragma once

#include "data/memory_reader.h"

namespace yoke {

/// Sums all labels and all input as they are stored; of input above 1 GiB, which may be in a file,
/// that of 64 examples spread over the set. The choice depends on the data alone.
DataChecksum ChecksumOf(const DataInfo& info, const MemoryData& data);

}  // namespace yoke
