// TableLabels: while it decides, a label is kept as a class and as a number.
#include "data/table_labels.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "data/table_columns.h"

namespace yoke {
namespace {

constexpr int64_t kMostKept = 10000;  // kinds of numbers that are still kept as classes

// Whether a word for a missing cell names a class if the job says that labels are classes.
bool MayBeName(std::string_view label) { return label == "?" || label == "None"; }

}  // namespace

TableLabels::TableLabels(const DataInfo* like, const std::string& task, bool optional,
                         char separator)
    : classes_(like && like->regression ? nullptr : like),
      optional_(optional),
      told_(task == "classes"),
      deciding_(!like && task == "auto"),
      multi_label_(like ? like->multi_label : task == "multi_label"),
      separator_(separator),
      regression_(like ? like->regression : task == "regression") {}

void TableLabels::SetColumns(int64_t columns) {
  columns_ = columns;
  if (columns == 1 || regression_ || multi_label_) return;
  Require(deciding_,
          "data.task: {} label columns are targets of a regression, or labels of task "
          "\"multi_label\", not classes",
          columns);
  deciding_ = false;
  regression_ = true;
}

void TableLabels::Add(const LineReader& lines, std::string_view label, const std::string& name,
                      MemoryData& data) {
  if (name_.empty()) name_ = name;
  if (multi_label_)
    return are_columns() ? AddIndicator(lines, label, name, data)
                         : AddLabels(lines, label, name, data);
  if (regression_) return AddNumber(lines, label, name, data);
  AddClass(lines, label, name, data);
  if (deciding_) Judge(label, data);
}

// Whether a label is a word for none, which no class can have as its name.
bool TableLabels::IsAbsent(std::string_view label) const {
  return IsNotFinite(label) || (IsMissing(label) && !(told_ && MayBeName(label)));
}

void TableLabels::AddClass(const LineReader& lines, std::string_view label, const std::string& name,
                           MemoryData& data) {
  const char* const expected = deciding_ ? "a class or number" : "a class";
  if (label.empty() && !optional_) lines.Fail("expected {} in {}, got nothing", expected, name);
  if (!IsUtf8(label))
    lines.Fail("the label {} is not UTF-8; convert the file, for example with iconv",
               Quoted(label));
  if (!optional_ && IsAbsent(label) && !classes_.Knows(label))
    lines.Fail("expected {} in {}, got {}; remove examples without a label{}", expected, name,
               Quoted(label),
               MayBeName(label) ? ", or data.task = \"classes\" if it is a class" : "");
  const int32_t index = classes_.Index(label);
  if (index < 0 && !optional_)
    lines.Fail("the label {} is none of the training classes: {}", Quoted(label), classes_.Known());
  labelled_ = labelled_ && index >= 0;
  data.classes.push_back(index);
}

void TableLabels::AddLabels(const LineReader& lines, std::string_view cell, const std::string& name,
                            MemoryData& data) {
  while (!cell.empty()) {
    const std::string_view label = Trimmed(cell.substr(0, cell.find(separator_)));
    cell.remove_prefix(std::min(cell.find(separator_), cell.size() - 1) + 1);
    if (label.empty()) continue;
    if (!IsUtf8(label))
      lines.Fail("the label {} is not UTF-8; convert the file, for example with iconv",
                 Quoted(label));
    const int32_t index = classes_.Index(label);
    if (index < 0 && !optional_)
      lines.Fail("{}: the label {} is none of the training data: {}", name, Quoted(label),
                 classes_.Known());
    if (index >= 0) AddLabel(index, data.labels);
  }
  data.labels.EndRow();
}

void TableLabels::AddIndicator(const LineReader& lines, std::string_view cell,
                               const std::string& name, MemoryData& data) {
  double number = 0;
  const bool known = ParseNumber(cell, number) && (number == 0 || number == 1);
  if (!known && !optional_)
    lines.Fail("{}: expected 0 or 1, whether the example has this label, got {}", name,
               cell.empty() ? "nothing" : Quoted(cell));
  labelled_ = labelled_ && known;
  if (number == 1) data.labels.ids.push_back(static_cast<int32_t>(place_));
  place_ = (place_ + 1) % columns_;
  if (place_ == 0) data.labels.EndRow();
}

void TableLabels::AddNumber(const LineReader& lines, std::string_view label,
                            const std::string& name, MemoryData& data) {
  double number = 0;
  if (!ParseNumber(label, number)) {
    if (!optional_)
      lines.Fail("expected a number as target in {}, got {}{}", name,
                 label.empty() ? "nothing" : Quoted(label),
                 deciding_ && !IsAbsent(label)
                     ? "; data.task = \"classes\" if the labels are classes"
                     : "");
    labelled_ = false;
  }
  data.targets.push_back(number);
}

// A text decides at once. Decimals, or very many numbers, leave no use for classes.
void TableLabels::Judge(std::string_view label, MemoryData& data) {
  double number = 0;
  if (!ParseNumber(label, number)) {
    deciding_ = false;
    data.targets = GrowingArray<double>();
    return;
  }
  data.targets.push_back(number);
  decimals_ = decimals_ || number != std::floor(number);
  regression_ = decimals_ || std::ssize(classes_.names()) > kMostKept;
}

void TableLabels::Finish(MemoryData& train) {
  const int64_t kinds = std::ssize(classes_.names());
  if (deciding_)
    Require(decimals_ || kinds <= kMostWhole,
            "data.task: {} holds more than {} different whole numbers; expected task = "
            "\"regression\" for amounts, or task = \"classes\"",
            name_, kMostWhole);
  deciding_ = false;
  if (multi_label_) {
    Require(train.labels.ids.size() > 0, "data.train: no example has a label in {}", name_);
    if (!are_columns()) CloseLabelSets(classes_, train.labels);
    return;
  }
  if (regression_) {
    train.classes = GrowingArray<int32_t>();
    return;
  }
  train.targets = GrowingArray<double>();
  classes_.Close(train.classes);
}

std::string TableLabels::Text(const MemoryData& train) const {
  if (multi_label_)
    return fmt::format(
        "labels: {} kinds, {:.3g} an example",
        are_columns() ? columns_ : std::ssize(classes_.names()),
        static_cast<double>(train.labels.ids.size()) / static_cast<double>(train.size));
  if (!regression_) return fmt::format("label: {} classes", classes_.names().size());
  if (columns_ > 1) return fmt::format("{} targets, regression", columns_);
  const auto [least, greatest] = std::ranges::minmax(train.targets.span());
  return fmt::format("target: {:.6g} to {:.6g}, regression", least, greatest);
}

}  // namespace yoke
