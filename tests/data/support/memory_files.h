// Loads formats from texts in memory, as if they were files, and says what a bad one is answered
// with.
#pragma once

#include <map>
#include <string>

#include "data/memory_reader.h"

namespace yoke::testing_support {

/// File names and what they hold.
using MemoryFiles = std::map<std::string, std::string>;

/// One loading of a format.
struct LoadCase {
  std::string format;
  Table options = {};  ///< Keys of [data] besides the format.
  MemoryFiles content = {};
  ReadFiles files = {};    ///< train and test name entries of content.
  size_t piece = 1 << 20;  ///< Bytes a source hands out at once.
};

LoadedData LoadMemory(const LoadCase& load);

/// The sentence of the UserError that loading ends in; "" when it ends well.
std::string LoadError(const LoadCase& load);

/// `text` as the training file "train" of `format`.
LoadCase TrainCase(const std::string& format, const std::string& text, Table options = {});

/// Row r of a sparse matrix as text: "0:1 5:0.25".
std::string RowText(const SparseArrays& rows, int64_t row);

}  // namespace yoke::testing_support
