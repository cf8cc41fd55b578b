// LoadXmcSets: loads both sets of a job for the formats of extreme classification data, and
// determines the counts of features and labels.
#pragma once

#include "data/memory_reader.h"

namespace yoke {

/// The counts of features and labels that a file declares.
struct XmcWidths {
  int64_t features = 0;
  int64_t labels = 0;
};

/// Appends one file to `data`. Features and labels at or beyond the counts in the file or
/// `files.like` are an error. Throws UserError with the file and the place.
using ReadXmcFile = XmcWidths (*)(ByteSource& source, const ReadFiles& files, MemoryData& data);

/// Reads all files with `read`. The counts of features and labels are those of `files.like` or the
/// maxima over all files; the option `features` may be larger.
LoadedData LoadXmcSets(const Options& options, const ReadFiles& files, ReadXmcFile read);

}  // namespace yoke
