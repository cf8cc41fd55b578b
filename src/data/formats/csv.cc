// CSV: one example per line, numbers and a class in columns, matched by the names in the first
// line.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/options.h"
#include "base/utf8.h"
#include "data/classes.h"
#include "data/columns.h"
#include "data/memory_reader.h"
#include "data/preprocess.h"
#include "data/text.h"

namespace yoke {
namespace {

class CsvLoader {
 public:
  CsvLoader(const Options& options, const ReadFiles& files)
      : files_(files),
        classes_(files.like),
        cells_(Delimiter(options)),
        delimiter_(Delimiter(options)),
        header_(options.String("header")),
        label_(options.Int("label")) {
    if (files.like) {
      features_ = files.like->input[0];
      columns_known_ = true;
      expected_names_ = files.like->columns;
      expected_label_ = files.like->label_column;
    }
    if (options.Has("features")) features_ = options.Int("features");
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    for (const std::string& path : files_.train) ReadFile(path, loaded.train);
    classes_.Close(loaded.train.classes);
    for (const std::string& path : files_.test) ReadFile(path, loaded.test);
    loaded.info = {.input = {features_},
                   .outputs = static_cast<int64_t>(classes_.names().size()),
                   .label_names = classes_.names(),
                   .columns = std::move(expected_names_),
                   .label_column = std::move(expected_label_),
                   .labelled = labelled_,
                   .normalization = RescaledOnly(files_.rescaling)};
    loaded.notes = std::move(notes_);
    return loaded;
  }

 private:
  static char Delimiter(const Options& options) {
    const std::string& text = options.String("delimiter");
    Require(text.size() == 1 && text != "\"" && text != "\n", "{}: expected one character, got {}",
            options.Where("delimiter"), Quoted(text));
    return text[0];
  }

  void ReadFile(const std::string& path, MemoryData& data) {
    const auto source = files_.open(path);
    LineReader lines(*source);
    const int64_t before = data.size;
    for (std::string_view line; lines.NextFilled(line);) {
      const auto& cells = cells_.Cut(lines, line);
      if (lines.Number() == 1 && SetColumns(lines, path, cells)) continue;
      AddExample(lines, cells, data);
    }
    Require(data.size > before,
            "{}: the file holds no example; expected lines of numbers and a class", path);
  }

  // Finds the columns by a file's first line. Returns whether that line names them.
  bool SetColumns(const LineReader& lines, const std::string& path,
                  const std::vector<std::string_view>& cells) {
    columns_ = static_cast<int64_t>(cells.size());
    const bool header = IsHeader(path, cells);
    names_.clear();
    if (header) names_.assign(cells.begin(), cells.end());
    if (header && !expected_names_.empty())
      SetByName(lines, cells);
    else
      SetByPlace(lines, header);
    columns_known_ = true;
    return header;
  }

  void SetByName(const LineReader& lines, const std::vector<std::string_view>& cells) {
    match_ = MatchByName(cells, expected_names_, expected_label_);
    if (!match_.missing.empty())
      lines.Fail("no column is named {}; expected the columns of the training data in any order",
                 ListOfNames(match_.missing));
    if (match_.label < 0 && !files_.labels_optional)
      lines.Fail("no column is named '{}', as the class is in the training data",
                 OneLine(expected_label_));
    if (match_.label < 0) labelled_ = false;
    if (!match_.left_out.empty())
      notes_.push_back(fmt::format("{}: left out columns that the training data lack: {}",
                                   lines.Name(), ListOfNames(match_.left_out)));
  }

  void SetByPlace(const LineReader& lines, bool header) {
    const int64_t label = LabelPlace();
    if (label < 0) labelled_ = false;
    if (label < -1 || label >= columns_)
      lines.Fail("{} columns; expected a label in column {}", columns_, label_);
    const int64_t features = columns_ - (label >= 0);
    if (features_ < 0) features_ = features;
    if (features != features_ || features == 0)
      lines.Fail("{} columns besides the label; expected {}", features,
                 features_ > 0 ? features_ : 1);
    match_ = MatchByPlace(columns_, label);
    if (header && !columns_known_) KeepNames(lines);
    if (!header && !expected_names_.empty())
      notes_.push_back(fmt::format(
          "{}: no header; its columns are taken in the order of the training data", lines.Name()));
    if (header && columns_known_)
      notes_.push_back(fmt::format(
          "{}: its header is not compared, as the training data have none; its columns are taken "
          "in their order",
          lines.Name()));
  }

  // The first file's names are those of the features and the class.
  void KeepNames(const LineReader& lines) {
    for (int64_t i = 0; i < columns_; ++i) {
      const std::string& name = names_[static_cast<size_t>(i)];
      if (!IsUtf8(name))
        lines.Fail("the name {} is not UTF-8; convert the file, for example with iconv",
                   Quoted(name));
      if (i == match_.label)
        expected_label_ = name;
      else
        expected_names_.push_back(name);
    }
  }

  // The class's column as the job places it; -1: the file has none, as predict's may.
  int64_t LabelPlace() const {
    if (files_.labels_optional && columns_ == features_) return -1;
    if (label_ >= 0) return label_;
    return columns_ + label_ < 0 ? columns_ : columns_ + label_;  // outside
  }

  // By default, a first line is a header if it holds the names of the training data, or no number
  // outside the label column, or numbers that count up over a class that no other line has.
  bool IsHeader(const std::string& path, const std::vector<std::string_view>& cells) {
    if (header_ != "auto") return header_ == "yes";
    if (HoldsNames(cells)) return true;
    const int64_t label = LabelPlace();
    double number = 0;
    bool has_number = false;
    for (int64_t i = 0; i < columns_; ++i)
      has_number |= i != label && ParseNumber(cells[static_cast<size_t>(i)], number);
    if (!has_number) return true;
    if (label < 0 || label >= columns_ || !AreCountedNames(cells, label)) return false;
    if (!IsOnlyInFirstLine(path, cells[static_cast<size_t>(label)])) return false;
    notes_.push_back(fmt::format(
        "{}: the first line counts its columns and is taken as their names; data.header = \"no\" "
        "reads it as an example",
        path));
    return true;
  }

  // Names that are numbers must come with the class's name or in their order: an example may hold
  // the same numbers.
  bool HoldsNames(const std::vector<std::string_view>& cells) const {
    if (expected_names_.empty()) return false;
    const ColumnMatch match = MatchByName(cells, expected_names_, expected_label_);
    if (!match.missing.empty()) return false;
    return match.label >= 0 ||
           std::equal(cells.begin(), cells.end(), expected_names_.begin(), expected_names_.end());
  }

  // Whether a label is a new class that no further line has, although classes of these repeat.
  bool IsOnlyInFirstLine(const std::string& path, std::string_view label) const {
    if (classes_.Knows(label) || !CanReopen(path)) return false;
    const auto source = files_.open(path);
    LineReader lines(*source);
    Cells rows(delimiter_);
    std::unordered_set<std::string> others;
    bool repeats = false;
    const auto place = static_cast<size_t>(LabelPlace());
    for (std::string_view line; lines.NextFilled(line);) {
      const auto& cells = rows.Cut(lines, line);
      if (lines.Number() == 1 || place >= cells.size()) continue;
      if (cells[place] == label) return false;
      repeats = repeats || !others.emplace(cells[place]).second;
    }
    return repeats;
  }

  void AddExample(const LineReader& lines, const std::vector<std::string_view>& cells,
                  MemoryData& data) {
    if (static_cast<int64_t>(cells.size()) != columns_)
      lines.Fail("{} columns; expected {} as in the first line", cells.size(), columns_);
    float* to = data.floats.Extend(features_);
    for (int64_t i = 0; i < columns_; ++i) {
      const std::string_view cell = cells[static_cast<size_t>(i)];
      const int64_t feature = match_.feature[static_cast<size_t>(i)];
      if (i == match_.label)
        AddLabel(lines, cell, data);
      else if (feature >= 0)
        to[feature] = Number(lines, cell, i, static_cast<size_t>(feature));
    }
    ++data.size;
  }

  float Number(const LineReader& lines, std::string_view cell, int64_t column,
               size_t feature) const {
    const char* begin = cell.data();
    const char* end = begin + cell.size();
    float value = 0;
    double number = 0;
    if (!files_.rescaling.Changes(feature)) {
      if (ScanFloat(begin, end, value) && begin == end) return value;
    } else if (ParseNumber(cell, number)) {
      value = files_.rescaling.Apply(number, feature);
      if (std::isfinite(value)) return value;
      lines.Fail("{}: {} is too far from the training data's numbers", NameOf(column),
                 Quoted(cell));
    }
    FailNumber(lines, cell, column);
  }

  [[noreturn]] void FailNumber(const LineReader& lines, std::string_view cell,
                               int64_t column) const {
    const bool may_be_header = lines.Number() == 1 && header_ == "auto";
    lines.Fail("{}: expected a finite number, got {}{}", NameOf(column), Quoted(cell),
               may_be_header ? "; data.header = \"yes\" if this line names the columns" : "");
  }

  // "column 1 ('age')", counted from 0.
  std::string NameOf(int64_t column) const {
    if (names_.empty()) return fmt::format("column {}", column);
    return fmt::format("column {} ('{}')", column, OneLine(names_[static_cast<size_t>(column)]));
  }

  void AddLabel(const LineReader& lines, std::string_view label, MemoryData& data) {
    if (label.empty() && !files_.labels_optional)
      lines.Fail("expected a class in {}, got nothing", NameOf(match_.label));
    if (!IsUtf8(label))
      lines.Fail("the label {} is not UTF-8; convert the file, for example with iconv",
                 Quoted(label));
    if (IsNotFinite(label) && !files_.labels_optional)
      lines.Fail("expected a class in {}, got {}; remove examples without a class",
                 NameOf(match_.label), Quoted(label));
    const int32_t index = classes_.Index(label);
    if (index < 0 && !files_.labels_optional)
      lines.Fail("the label {} is none of the training classes: {}", Quoted(label),
                 classes_.Known());
    labelled_ = labelled_ && index >= 0;
    data.classes.push_back(index);
  }

  const ReadFiles& files_;
  ClassLabels classes_;
  Cells cells_;
  char delimiter_;
  std::string header_;
  int64_t label_;  // from the job; negative: counted from the end
  int64_t features_ = -1;
  bool columns_known_ = false;               // a file or a checkpoint has fixed them
  std::vector<std::string> expected_names_;  // names of the features; empty: unknown
  std::string expected_label_;
  int64_t columns_ = 0;             // of the current file
  std::vector<std::string> names_;  // its header
  ColumnMatch match_;
  bool labelled_ = true;
  std::vector<std::string> notes_;
};

LoadedData LoadCsv(const Options& options, const ReadFiles& files) {
  return CsvLoader(options, files).Load();
}

std::vector<OptionSpec> CsvOptions() {
  return {{.name = "label",
           .type = OptionType::kInt,
           .fallback = -1,
           .help = "Column of the class, from 0; negative ones count from the end (-1: the last).",
           .minimum = -kMostCount,
           .maximum = kMostCount},
          {.name = "delimiter", .fallback = ",", .help = "The character between columns."},
          {.name = "header",
           .fallback = "auto",
           .help = "Whether the first line names the columns; auto: it does if no column except "
                   "the label's has a number, or if it holds the training data's names.",
           .choices = {"auto", "yes", "no"}}};
}

}  // namespace

FormatEntry csv_format() {
  return {.name = "csv",
          .summary = "CSV: numbers and a class in columns; dense",
          .options = CsvOptions(),
          .load = LoadCsv};
}

}  // namespace yoke
