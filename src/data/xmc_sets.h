// LoadXmcSets: what the forms of extreme classification data share: both sets of a job, file after
// file, and how many features and labels they have.
#pragma once

#include "data/memory_reader.h"

namespace yoke {

/// How many features and labels a file promises.
struct XmcWidths {
  int64_t features = 0;
  int64_t labels = 0;
};

/// Reads one file behind what `data` holds already. Features and labels at or beyond what the file
/// or `files.like` says are an error. Throws UserError naming the file and the place.
using ReadXmcFile = XmcWidths (*)(ByteSource& source, const ReadFiles& files, MemoryData& data);

/// Reads all files by `read`. Features and labels are `files.like`'s or the most of any file; the
/// option `features` may say more.
LoadedData LoadXmcSets(const Options& options, const ReadFiles& files, ReadXmcFile read);

}  // namespace yoke
