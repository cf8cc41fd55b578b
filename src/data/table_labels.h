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
/// at most kMostWhole kinds.
class TableLabels {
 public:
  static constexpr int64_t kMostWhole = 100;

  /// `task`: "auto", "classes" or "regression". `optional`: a missing or unknown label leaves the
  /// set unlabelled.
  TableLabels(const DataInfo* like, const std::string& task, bool optional);

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
  bool labelled() const { return labelled_; }
  const ClassLabels& classes() const { return classes_; }
  /// "label: 3 classes" or "target: 0.5 to 214, regression", of the training data.
  std::string Text(const MemoryData& train) const;

 private:
  bool IsAbsent(std::string_view label) const;
  void AddClass(const LineReader& lines, std::string_view label, const std::string& name,
                MemoryData& data);
  void AddNumber(const LineReader& lines, std::string_view label, const std::string& name,
                 MemoryData& data);
  void Judge(std::string_view label, MemoryData& data);

  ClassLabels classes_;
  bool optional_;
  bool told_;        // the job says that labels are classes
  bool deciding_;    // the labels are to tell what they are
  bool regression_;  // numbers, decided or so far
  bool decimals_ = false;
  bool labelled_ = true;
  int64_t columns_ = 1;
  std::string name_;  // of the first column
};

}  // namespace yoke
