// Extreme multi-label data: of any size with planted structure, for tests and benchmarks of large
// output layers; and both sets of a job out of files.
#pragma once

#include <cstdint>

#include "data/memory_reader.h"

namespace yoke {

/// What to generate.
struct XmcShape {
  int64_t features = 10000;
  int64_t labels = 1000;
  double nonzeros = 75;           ///< Mean number of features drawn per example; duplicates merge.
  double labels_per_example = 5;  ///< Mean; an example has at least one.
  uint64_t seed = 1;
};

/// Appends `size` examples to `data`, the same on every machine and for any number of threads. The
/// labels of an example follow a Zipf law (rank r has probability log(1 + 1/r) / log(labels + 1)).
/// Two thirds of its features come from its labels' prototypes (16 features per label, the same in
/// every example and in both sets); the rest is noise with a Zipf law over features. Values are
/// term frequency times inverse document frequency, and each row has length 1. About 10
/// microseconds per example.
void GenerateXmc(const XmcShape& shape, bool test, int64_t size, MemoryData& data);

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
