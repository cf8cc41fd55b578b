// CSV: one example per line, numbers and a class in columns; the first line may name them.
#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"
#include "data/classes.h"
#include "data/memory_reader.h"
#include "data/text.h"

namespace yoke {
namespace {

// A line split into cells, which are views into the line, or into `unquoted_` if quotes were
// removed.
class Cells {
 public:
  explicit Cells(char delimiter) : delimiter_(delimiter) {}

  const std::vector<std::string_view>& Cut(const LineReader& lines, std::string_view line) {
    cells_.clear();
    unquoted_.clear();
    unquoted_.reserve(line.size());  // views into it must remain valid
    for (bool more = true; more;) {
      const bool quoted = !line.empty() && line.front() == '"';
      cells_.push_back(quoted ? TakeQuoted(lines, line) : TakePlain(line));
      more = !line.empty();
      if (more) line.remove_prefix(1);
      if (more && line.empty()) cells_.emplace_back(), more = false;
    }
    return cells_;
  }

 private:
  std::string_view TakePlain(std::string_view& line) const {
    const std::string_view cell = line.substr(0, line.find(delimiter_));
    line.remove_prefix(cell.size());
    return Trimmed(cell);
  }

  // "..." with "" for a quote inside.
  std::string_view TakeQuoted(const LineReader& lines, std::string_view& line) {
    const size_t start = unquoted_.size();
    size_t i = 1;
    for (; i < line.size() && (line[i] != '"' || line.substr(i, 2) == "\"\""); ++i) {
      i += line[i] == '"';
      unquoted_ += line[i];
    }
    if (i >= line.size()) lines.Fail("a quote is not closed on its line");
    line.remove_prefix(i + 1);
    if (!line.empty() && line.front() != delimiter_)
      lines.Fail("expected the delimiter behind a quoted cell, got {}", Quoted(line));
    return std::string_view(unquoted_).substr(start);
  }

  char delimiter_;
  std::vector<std::string_view> cells_;
  std::string unquoted_;
};

class CsvLoader {
 public:
  CsvLoader(const Options& options, const ReadFiles& files)
      : files_(files),
        classes_(files.like),
        cells_(Delimiter(options)),
        header_(options.String("header")),
        label_(options.Int("label")) {
    if (files.like) features_ = files.like->input[0];
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
                   .labelled = labelled_};
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
      if (lines.Number() == 1) SetColumns(lines, cells);
      if (lines.Number() > 1 || !IsHeader(cells)) AddExample(lines, cells, data);
    }
    Require(data.size > before,
            "{}: the file holds no example; expected lines of numbers and a class", path);
  }

  // The first line of each file determines the number of columns and the label's position.
  void SetColumns(const LineReader& lines, const std::vector<std::string_view>& cells) {
    columns_ = static_cast<int64_t>(cells.size());
    const bool unlabelled = files_.labels_optional && columns_ == features_;
    if (unlabelled) labelled_ = false;
    label_column_ = unlabelled ? -1 : label_ < 0 ? columns_ + label_ : label_;
    if (!unlabelled && (label_column_ < 0 || label_column_ >= columns_))
      lines.Fail("{} columns; expected a label in column {}", columns_, label_);
    const int64_t features = columns_ - (label_column_ >= 0);
    if (features_ < 0) features_ = features;
    if (features != features_ || features == 0)
      lines.Fail("{} columns besides the label; expected {}", features,
                 features_ > 0 ? features_ : 1);
  }

  // By default, a first line without a number outside the label column is a header.
  bool IsHeader(const std::vector<std::string_view>& cells) const {
    if (header_ != "auto") return header_ == "yes";
    double number = 0;
    for (int64_t i = 0; i < columns_; ++i)
      if (i != label_column_ && ParseNumber(cells[static_cast<size_t>(i)], number)) return false;
    return true;
  }

  void AddExample(const LineReader& lines, const std::vector<std::string_view>& cells,
                  MemoryData& data) {
    if (static_cast<int64_t>(cells.size()) != columns_)
      lines.Fail("{} columns; expected {} as in the first line", cells.size(), columns_);
    float* to = data.numbers.Extend(features_);
    for (int64_t i = 0; i < columns_; ++i) {
      const std::string_view cell = cells[static_cast<size_t>(i)];
      if (i == label_column_) {
        AddLabel(lines, cell, data);
      } else {
        *to++ = Number(lines, cell, i);
      }
    }
    ++data.size;
  }

  static float Number(const LineReader& lines, std::string_view cell, int64_t column) {
    const char* begin = cell.data();
    const char* end = begin + cell.size();
    float value = 0;
    if (!ScanFloat(begin, end, value) || begin != end)
      lines.Fail("column {}: expected a finite number, got {}", column, Quoted(cell));
    return value;
  }

  void AddLabel(const LineReader& lines, std::string_view label, MemoryData& data) {
    if (label.empty()) lines.Fail("expected a class in column {}, got nothing", label_column_);
    if (!IsUtf8(label))
      lines.Fail("the label {} is not UTF-8; convert the file, for example with iconv",
                 Quoted(label));
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
  std::string header_;
  int64_t label_;  // from the job; negative: counted from the end
  int64_t features_ = -1;
  int64_t columns_ = 0;
  int64_t label_column_ = -1;  // -1: none
  bool labelled_ = true;
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
                   "the label's has a number.",
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
