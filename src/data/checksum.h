// Checksums that tell one data set from another without reading all of it.
#pragma once

#include "data/memory_reader.h"

namespace yoke {

/// Sums all labels, and the input of 64 examples spread over the set, as they are stored.
DataChecksum ChecksumOf(const DataInfo& info, const MemoryData& data);

}  // namespace yoke
