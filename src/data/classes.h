// ClassLabels: maps the labels of single-label files to class numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/memory_reader.h"
#include "data/reader.h"
#include "data/storage.h"

namespace yoke {

/// Labels that are numbers compare as numbers ("-1.0" is "-1", "+1" is "1"), whole ones exactly at
/// any length, others as text. The training files define the classes; then Close sorts them, and
/// other files must use the same classes.
class ClassLabels {
 public:
  /// `like` defines the classes already, or is null.
  explicit ClassLabels(const DataInfo* like);

  /// The class of a label. For an unknown label, a new class while open, and -1 when closed. Throws
  /// UserError for a new one that is not UTF-8, which a checkpoint cannot store.
  int32_t Index(std::string_view label);
  /// Whether the label is one of the classes so far.
  bool Knows(std::string_view label) const;
  /// Sorts the classes (numbers by value, then text) and renumbers `classes` to match. Does nothing
  /// if already closed.
  void Close(GrowingArray<int32_t>& classes);
  const std::vector<std::string>& names() const { return names_; }
  /// Part of the message about an unknown label.
  std::string Known() const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int32_t> index_;
  bool closed_ = false;
  std::string last_label_;
  int32_t last_index_ = -1;
};

/// Adds a label to the last row of `rows`, which is not ended, unless the row has it.
void AddLabel(int32_t label, SparseArrays& rows);
/// Closes the classes that are the labels of these rows, and sorts each row.
void CloseLabelSets(ClassLabels& classes, SparseArrays& rows);

}  // namespace yoke
