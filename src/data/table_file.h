// The tables of several formats: columns that are matched by name, and lines that are read alike.
#pragma once

#include <string>
#include <vector>

#include "data/reader.h"

namespace yoke {

/// How a file holds lines.
struct TableFile {
  char delimiter = ',';
  std::string header = "auto";  ///< Whether the first line names the columns: "yes", "no", "auto".
  /// Files are Parquet but for those that end in .csv; those that end in .parquet always are.
  bool parquet = false;
};

/// The keys of [data] that tables have.
std::vector<OptionSpec> TableOptions();

/// A sentence on those of these keys that a job sets although the model to start from gives the
/// features; empty if there are none.
std::vector<std::string> NotesOfStart(const Options& options, const std::vector<OptionSpec>& keys);

/// Loads the files of a job like FormatEntry::load.
LoadedData LoadTable(const Options& options, const ReadFiles& files, const TableFile& file);

}  // namespace yoke
