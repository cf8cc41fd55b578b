// Data that a program has in memory, as the data sets of a job.
#pragma once

#include "data/memory_reader.h"

namespace yoke {

/// The same as OpenData for arrays: shares, normalization and augmentation as `[data]` says. Throws
/// UserError for data that cannot be trained on.
DataSets OpenMemory(const Value& data_section, LoadedData loaded, uint64_t seed);

}  // namespace yoke
