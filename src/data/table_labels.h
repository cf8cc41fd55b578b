// TableLabels: the labels of a table's examples, and whether they are classes or numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/classes.h"
#include "data/memory_reader.h"
#include "data/text.h"

namespace yoke {

/// Texts are classes, decimals the target of a regression, and whole numbers classes if they are of
/// at most kMostWhole kinds. Sets of labels are told by the job alone.
class TableLabels {
 public:
  static constexpr int64_t kMostWhole = 100;

  /// `task`: "auto", "classes", "regression", "multi_label". `optional`: a missing or unknown label
  /// leaves the set unlabelled. `task` may be "multi_label": a cell holds labels between
  /// separators, or, with several columns, 0 or 1 for the label that its column names.
  TableLabels(const DataInfo* like, const std::string& task, bool optional, char separator);

  /// So many columns hold labels; several are targets. Throws UserError if classes were asked for.
  void SetColumns(int64_t columns);
  /// Adds the label in one of these columns; `name` is the column's, for messages.
  void Add(const LineReader& lines, std::string_view label, const std::string& name,
           MemoryData& data);
  /// Decides what the labels are, once the training files are read. Throws UserError if they do not
  /// tell it.
  void Finish(MemoryData& train);
  void Unlabelled() { labelled_ = false; }

  bool regression() const { return regression_; }
  bool multi_label() const { return multi_label_; }
  /// Whether each label has a column of its own, which names it.
  bool are_columns() const { return multi_label_ && columns_ > 1; }
  bool labelled() const { return labelled_; }
  const ClassLabels& classes() const { return classes_; }
  /// "label: 3 classes" or "target: 0.5 to 214, regression", of the training data.
  std::string Text(const MemoryData& train) const;

 private:
  bool IsAbsent(std::string_view label) const;
  void AddClass(const LineReader& lines, std::string_view label, const std::string& name,
                MemoryData& data);
  void AddLabels(const LineReader& lines, std::string_view cell, const std::string& name,
                 MemoryData& data);
  void AddIndicator(const LineReader& lines, std::string_view cell, const std::string& name,
                    MemoryData& data);
  void AddNumber(const LineReader& lines, std::string_view label, const std::string& name,
                 MemoryData& data);
  void Judge(std::string_view label, MemoryData& data);

  ClassLabels classes_;
  bool optional_;
  bool told_;      // the job says that labels are classes
  bool deciding_;  // the labels are to tell what they are
  bool multi_label_;
  char separator_;     // of the labels in a cell
  int64_t place_ = 0;  // of the next column of labels
  bool regression_;    // numbers, decided or so far
  bool decimals_ = false;
  bool labelled_ = true;
  int64_t columns_ = 1;
  std::string name_;  // of the first column
};

}  // namespace yoke
