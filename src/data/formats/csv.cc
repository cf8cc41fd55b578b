// CSV: one example per line, in columns that are matched by the names in the first line: numbers,
// categories, and a class or targets.
#include <algorithm>
#include <unordered_set>

#include "base/options.h"
#include "base/resources.h"
#include "base/utf8.h"
#include "data/columns.h"
#include "data/memory_reader.h"
#include "data/parquet.h"
#include "data/preprocess.h"
#include "data/table_columns.h"
#include "data/table_file.h"
#include "data/table_labels.h"
#include "data/table_rows.h"
#include "data/text.h"

namespace yoke {
namespace {

char OneCharacter(const Options& options, const char* key) {
  const std::string& text = options.String(key);
  Require(text.size() == 1 && text != "\"" && text != "\n", "{}: expected one character, got {}",
          options.Where(key), Quoted(text));
  return text[0];
}

class TableLoader {
 public:
  TableLoader(const Options& options, const ReadFiles& files, const TableFile& file)
      : options_(options),
        files_(files),
        file_(file),
        choice_(options),
        labels_(files.like, options.String("task"), files.labels_optional,
                OneCharacter(options, "label_delimiter")),
        features_(KnownFeatures(files), files.rescaling),
        cells_(file.delimiter),
        rows_(file.delimiter, UsableCores()) {
    Require(choice_.Labels() > 0, "{}: expected a column", options.Where("label"));
    Require(!options.Has("weight") || options.Columns("weight").size() == 1,
            "{}: expected one column", options.Where("weight"));
    Require(!options.Has("text") || options.String("category_encoding") == "one_hot",
            "{}: free text makes features sparse, of which categories are one_hot",
            options.Where("category_encoding"));
    if (const DataInfo* known = KnownFeatures(files)) feature_names_ = known->columns;
    if (!files.like) {
      if (files.features) notes_ = NotesOfStart(options, TableOptions());
      return;
    }
    label_names_ = LabelNames(*files.like);
    labels_.SetColumns(std::ssize(label_names_));
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    training_ = true;
    for (const std::string& path : files_.train) ReadFile(path, loaded.train);
    training_ = false;
    if (!files_.train.empty()) FinishTraining(loaded.train);
    features_.Join(loaded.train);
    for (const std::string& path : files_.test) ReadFile(path, loaded.test);
    features_.Join(loaded.test);
    loaded.info = Info();
    loaded.table = !loaded.info.sparse;
    loaded.notes = std::move(notes_);
    return loaded;
  }

 private:
  static const DataInfo* KnownFeatures(const ReadFiles& files) {
    return files.like ? files.like : files.features;
  }

  // Of the class, of the labels that have columns, or of the targets.
  static std::vector<std::string> LabelNames(const DataInfo& info) {
    const bool are_columns = info.multi_label && info.label_column.empty() && !info.columns.empty();
    if (are_columns) return info.label_names;
    if (!info.regression || info.outputs == 1) return {info.label_column};
    if (!info.label_names.empty()) return info.label_names;
    return std::vector<std::string>(static_cast<size_t>(info.outputs));
  }

  void FinishTraining(MemoryData& train) {
    features_.Finish(train.size, files_.memory_limit, train.floats);
    labels_.Finish(train);
    ScaleWeights(train.weights);
    if (files_.like) return;
    if (features_.MissingNumbers() > 0)
      notes_.push_back(fmt::format("missing numbers: {}; each is taken as the mean of its column",
                                   features_.MissingNumbers()));
    notes_.push_back(labels_.Text(train));
  }

  // To a mean of 1, so that a learning rate means what it does without them.
  void ScaleWeights(GrowingArray<float>& weights) const {
    if (weights.empty()) return;
    double sum = 0;
    for (const float weight : weights.span()) sum += weight;
    Require(sum > 0, "{}: all weights are 0", options_.Where("weight"));
    const double scale = static_cast<double>(weights.size()) / sum;
    for (float& weight : weights.span()) weight = static_cast<float>(weight * scale);
  }

  DataInfo Info() {
    DataInfo info = files_.like ? *files_.like : DataInfo();
    info.labelled = labels_.labelled();
    info.normalization = RescaledOnly(files_.rescaling);
    if (files_.like) return info;
    info.input = {features_.features()};
    info.sparse = features_.HasWords();
    info.columns = feature_names_;
    info.encodings = features_.Encodings();
    info.label_column = label_names_[0];
    info.regression = labels_.regression();
    info.multi_label = labels_.multi_label();
    if (labels_.are_columns()) {
      Require(!feature_names_.empty(),
              "{}: several columns of labels need a first line that names them",
              options_.Where("label"));
      info.label_names = label_names_;
      info.label_column.clear();
    } else if (!info.regression)
      info.label_names = labels_.classes().names();
    else if (!feature_names_.empty())
      info.label_names = label_names_;
    info.outputs = info.regression ? choice_.Labels() : std::ssize(info.label_names);
    return info;
  }

  // The first lines teach what most others hold.
  void ReadFile(const std::string& path, MemoryData& data) {
    constexpr int64_t kFirst = 100;
    is_parquet_ = path.ends_with(".parquet") || (file_.parquet && !path.ends_with(".csv"));
    const auto source =
        is_parquet_ ? OpenParquet(path, file_.delimiter) : Mapped(files_.open(path));
    LineReader lines(*source);
    const int64_t before = data.size;
    blank_ = 0;
    for (std::string_view text; lines.Number() < kFirst && lines.NextFilled(text);)
      AddLine(lines, path, text, data);
    for (std::string_view text; lines.NextLines(text);) AddLines(lines, text, data);
    Require(data.size > before,
            "{}: the file holds no example; expected lines of numbers and a class", path);
  }

  void AddLine(const LineReader& lines, const std::string& path, std::string_view line,
               MemoryData& data) {
    const auto& cells = cells_.Cut(lines, line);
    if (lines.Number() == 1) {
      if (!line.starts_with('"')) CheckDelimiter(lines, cells);
      if (SetColumns(lines, path, cells)) return;
    }
    AddExample(lines, cells, data.floats.Extend(features_.Width()), data);
  }

  void AddLines(LineReader& lines, std::string_view text, MemoryData& data) {
    const int64_t count = rows_.Divide(text), width = features_.Width(), first = lines.Number() + 1;
    float* const rows = data.floats.Extend(count * width);
    rows_.Read(features_, rows);
    int64_t blanks = 0;
    for (int64_t r = 0; r < count; ++r) {
      lines.GoTo(first + r);
      const std::string_view left = rows_.Left(r);
      if (left.data() && Trimmed(left).empty()) {
        ++blanks;
        if (blank_ == 0) blank_ = lines.Number();
        continue;
      }
      if (blank_ > 0) lines.Fail("line {} above is blank; expected an example there", blank_);
      if (left.data())
        AddExample(lines, cells_.Cut(lines, left), rows + r * width, data);
      else
        EndExample(
            lines, [&](size_t k) { return rows_.Cell(r, k); }, data);
    }
    data.floats.Remove(blanks * width);
  }

  // Finds the columns by a file's first line. Returns whether that line names them.
  bool SetColumns(const LineReader& lines, const std::string& path,
                  const std::vector<std::string_view>& cells) {
    columns_ = static_cast<int64_t>(cells.size());
    has_header_ = IsHeader(path, cells);
    names_.clear();
    if (has_header_) names_.assign(cells.begin(), cells.end());
    if (has_header_ && !feature_names_.empty())
      SetByName(lines, cells);
    else
      SetByPlace(lines);
    if (label_names_.empty()) StartLabels(lines);
    label_places_.clear();
    for (const int64_t label : match_.labels) label_places_.push_back(NameOf(label));
    read_columns_.clear();
    for (const int64_t label : match_.labels)
      if (label >= 0) read_columns_.push_back(label);
    if (match_.weight >= 0) read_columns_.push_back(match_.weight);
    rows_.SetColumns({.feature = match_.feature, .cells = read_columns_});
    return has_header_;
  }

  // One column without quotes may be several by another delimiter.
  void CheckDelimiter(const LineReader& lines, const std::vector<std::string_view>& cells) const {
    if (cells.size() > 1) return;
    for (const auto& [delimiter, word] :
         {std::pair(';', ";"), {'\t', "\\t"}, {'|', "|"}, {',', ","}})
      if (cells[0].find(delimiter) != cells[0].npos)
        lines.Fail("the line is one column by the delimiter {}; data.delimiter = \"{}\" divides it",
                   Quoted(std::string(1, file_.delimiter)), word);
  }

  void SetByName(const LineReader& lines, const std::vector<std::string_view>& cells) {
    match_ = MatchByName(cells, feature_names_, label_names_);
    if (!match_.missing.empty())
      lines.Fail("no column is named {}; expected the columns of the training data in any order",
                 ListOfNames(match_.missing));
    if (label_names_.empty()) TakeLabels(lines);
    for (size_t k = 0; k < label_names_.size() && !files_.labels_optional; ++k)
      if (match_.labels[k] < 0)
        lines.Fail("no column is named '{}', as the {} is in the training data",
                   OneLine(label_names_[k]), labels_.regression() ? "target" : "class");
    if (!match_.HasLabels()) labels_.Unlabelled();
    if (training_ && options_.Has("weight"))
      match_.weight = choice_.Places(lines, "weight", names_, columns_)[0];
    if (training_) ColumnChoice::CheckLabels(lines, match_.labels, {match_.weight});
    std::erase_if(match_.left_out, [&](const std::string& name) { return choice_.Names(name); });
    if (!match_.left_out.empty() && !options_.Has("columns"))
      notes_.push_back(fmt::format("{}: left out columns that the training data lack: {}",
                                   lines.Name(), ListOfNames(match_.left_out)));
  }

  void SetByPlace(const LineReader& lines) {
    const bool first = features_.learning() && features_.size() == 0;
    match_ = IsWithoutLabels() ? FeaturesAlone() : choice_.Match(lines, names_, columns_);
    if (!match_.HasLabels()) labels_.Unlabelled();
    const int64_t features = std::ranges::max(match_.feature) + 1;
    const int64_t expected = first ? Expected(features) : features_.size();
    if (features != expected || features == 0)
      lines.Fail("{} columns besides the label; expected {}", features,
                 expected > 0 ? expected : 1);
    if (first) StartColumns(lines, features);
    if (!first && !has_header_ && !feature_names_.empty())
      notes_.push_back(fmt::format(
          "{}: no header; its columns are taken in the order of the training data", lines.Name()));
    if (!first && has_header_)
      notes_.push_back(fmt::format(
          "{}: its header is not compared, as the training data have none; its columns are taken "
          "in their order",
          lines.Name()));
  }

  // Feature columns of the first file; those of texts may become more features.
  int64_t Expected(int64_t features) const {
    return options_.Has("features") && !options_.Has("categories") && !options_.Has("text")
               ? options_.Int("features")
               : features;
  }

  // Whether the file lacks the labels, as predict's may.
  bool IsWithoutLabels() const { return files_.labels_optional && columns_ == features_.size(); }

  ColumnMatch FeaturesAlone() const {
    ColumnMatch match{.labels = std::vector<int64_t>(label_names_.size(), -1)};
    for (int64_t i = 0; i < columns_; ++i) match.feature.push_back(i);
    return match;
  }

  // The first file's names are those of the features.
  void StartColumns(const LineReader& lines, int64_t features) {
    features_.Start(features, {.texts = FeaturesOf(lines, "categories"),
                               .words = FeaturesOf(lines, "text"),
                               .word_features = WordFeaturesOf(options_),
                               .by_id = options_.String("category_encoding") == "embedding"});
    if (!has_header_) return;
    for (int64_t i = 0; i < columns_; ++i)
      if (match_.feature[static_cast<size_t>(i)] >= 0) feature_names_.push_back(NameAt(lines, i));
  }

  void StartLabels(const LineReader& lines) {
    labels_.SetColumns(choice_.Labels());
    label_names_.assign(match_.labels.size(), "");
    for (size_t k = 0; has_header_ && k < match_.labels.size(); ++k)
      label_names_[k] = NameAt(lines, match_.labels[k]);
  }

  // Of a file whose features are those of another one, which may have other labels.
  void TakeLabels(const LineReader& lines) {
    match_.labels = choice_.Places(lines, "label", names_, columns_);
    ColumnChoice::CheckLabels(lines, match_.labels,
                              choice_.Places(lines, "drop", names_, columns_));
    for (const int64_t label : match_.labels) {
      const std::string& name = names_[static_cast<size_t>(label)];
      if (match_.feature[static_cast<size_t>(label)] >= 0)
        lines.Fail("column '{}' is the label, and one that the model to start from learned from",
                   OneLine(name));
      std::erase(match_.left_out, name);
    }
  }

  // The features that a key names.
  std::vector<int64_t> FeaturesOf(const LineReader& lines, const char* key) const {
    std::vector<int64_t> features;
    for (const int64_t place : choice_.Places(lines, key, names_, columns_)) {
      features.push_back(match_.feature[static_cast<size_t>(place)]);
      if (features.back() < 0) lines.Fail("data.{}: column {} is no feature", key, place);
    }
    return features;
  }

  const std::string& NameAt(const LineReader& lines, int64_t column) const {
    const std::string& name = names_[static_cast<size_t>(column)];
    if (!IsUtf8(name))
      lines.Fail("the name {} is not UTF-8; convert the file, for example with iconv",
                 Quoted(name));
    return name;
  }

  // By default, a first line is a header if it holds the names of the training data or the job
  // names a column, or if it has no number outside the label column, or numbers that count up over
  // a class that no other line has.
  bool IsHeader(const std::string& path, const std::vector<std::string_view>& cells) {
    if (is_parquet_ || file_.header != "auto") return is_parquet_ || file_.header == "yes";
    if (HoldsNames(cells) || (training_ && choice_.HasNames())) return true;
    const int64_t label = IsWithoutLabels() ? -1 : choice_.LabelPlace(columns_);
    double number = 0;
    bool has_number = false;
    for (int64_t i = 0; i < columns_; ++i)
      has_number |= i != label && ParseNumber(cells[static_cast<size_t>(i)], number);
    if (!has_number) return true;
    if (label < 0 || label >= columns_ || !AreCountedNames(cells, label)) return false;
    if (!IsOnlyInFirstLine(path, static_cast<size_t>(label), cells)) return false;
    notes_.push_back(fmt::format(
        "{}: the first line counts its columns and is taken as their names; data.header = \"no\" "
        "reads it as an example",
        path));
    return true;
  }

  // Names that are numbers must come with the class's name or in their order: an example may hold
  // the same numbers.
  bool HoldsNames(const std::vector<std::string_view>& cells) const {
    if (feature_names_.empty()) return false;
    const ColumnMatch match = MatchByName(cells, feature_names_, label_names_);
    if (!match.missing.empty()) return false;
    return match.HasLabels() ||
           std::equal(cells.begin(), cells.end(), feature_names_.begin(), feature_names_.end());
  }

  // Whether a label is a new class that no further line has, although classes of these repeat.
  bool IsOnlyInFirstLine(const std::string& path, size_t place,
                         const std::vector<std::string_view>& first) const {
    const std::string label(first[place]);
    if (labels_.classes().Knows(label) || !CanReopen(path)) return false;
    const auto source = files_.open(path);
    LineReader lines(*source);
    Cells rows(file_.delimiter);
    std::unordered_set<std::string> others;
    bool repeats = false;
    for (std::string_view line; lines.NextFilled(line);) {
      const auto& cells = rows.Cut(lines, line);
      if (lines.Number() == 1 || place >= cells.size()) continue;
      if (cells[place] == label) return false;
      repeats = repeats || !others.emplace(cells[place]).second;
    }
    return repeats;
  }

  void AddExample(const LineReader& lines, const std::vector<std::string_view>& cells, float* row,
                  MemoryData& data) {
    if (static_cast<int64_t>(cells.size()) != columns_)
      lines.Fail("{} columns; expected {} as in the first line", cells.size(), columns_);
    if (lines.Number() == 2 && !has_header_ && features_.learning()) CheckSecond(lines, cells);
    for (int64_t i = 0; i < columns_; ++i) {
      const int64_t feature = match_.feature[static_cast<size_t>(i)];
      if (feature < 0) continue;
      const std::string problem = features_.Put(cells[static_cast<size_t>(i)], feature, row);
      if (!problem.empty()) lines.Fail("{}: {}", NameOf(i), problem);
    }
    EndExample(
        lines, [&](size_t k) { return cells[static_cast<size_t>(read_columns_[k])]; }, data);
  }

  // Adds labels and weight, which cell(k) of column read_columns_[k] holds.
  template <typename Cell>
  void EndExample(const LineReader& lines, const Cell& cell, MemoryData& data) {
    size_t at = 0;
    for (size_t k = 0; k < match_.labels.size(); ++k)
      if (match_.labels[k] >= 0) labels_.Add(lines, cell(at++), label_places_[k], data);
    if (match_.weight >= 0) AddWeight(lines, cell(at), data);
    ++data.size;
  }

  // A text above a number may be the name of its column.
  void CheckSecond(const LineReader& lines, const std::vector<std::string_view>& cells) const {
    double number = 0;
    for (int64_t i = 0; i < columns_; ++i) {
      const std::string_view cell = cells[static_cast<size_t>(i)];
      const int64_t feature = match_.feature[static_cast<size_t>(i)];
      if (feature >= 0 && features_.BeganAsText(feature) && ParseNumber(cell, number))
        lines.Fail(
            "column {}: got the number {} below a text; data.header = \"yes\" if the first "
            "line names the columns, data.categories if the column holds texts",
            i, Quoted(cell));
    }
  }

  void AddWeight(const LineReader& lines, std::string_view cell, MemoryData& data) const {
    double weight = 0;
    if (!training_) return;
    if (!ParseNumber(cell, weight) || weight < 0)
      lines.Fail("{}: expected a weight of at least 0, got {}", NameOf(match_.weight),
                 Quoted(cell));
    data.weights.push_back(static_cast<float>(weight));
  }

  // "column 1 ('age')", counted from 0.
  std::string NameOf(int64_t column) const {
    if (names_.empty() || column < 0) return fmt::format("column {}", column);
    return fmt::format("column {} ('{}')", column, OneLine(names_[static_cast<size_t>(column)]));
  }

  const Options& options_;
  const ReadFiles& files_;
  const TableFile& file_;
  ColumnChoice choice_;
  TableLabels labels_;
  TableColumns features_;
  Cells cells_;
  TableRows rows_;
  bool is_parquet_ = false;                 // the current file
  bool training_ = false;                   // the training files are being read
  std::vector<std::string> feature_names_;  // of the training data; empty: unknown
  std::vector<std::string> label_names_;    // likewise; "": unknown
  int64_t columns_ = 0;                     // of the current file
  bool has_header_ = false;
  std::vector<std::string> names_;  // its header
  ColumnMatch match_;
  std::vector<std::string> label_places_;  // of its labels, for messages
  std::vector<int64_t> read_columns_;      // its columns of labels and the weight
  int64_t blank_ = 0;                      // its first blank line; 0: there is none so far
  std::vector<std::string> notes_;
};

LoadedData LoadCsv(const Options& options, const ReadFiles& files) {
  return LoadTable(
      options, files,
      {.delimiter = OneCharacter(options, "delimiter"), .header = options.String("header")});
}

std::vector<OptionSpec> CsvOptions() {
  std::vector<OptionSpec> options = TableOptions();
  options.push_back(
      {.name = "delimiter", .fallback = ",", .help = "The character between columns."});
  options.push_back(
      {.name = "header",
       .fallback = "auto",
       .help = "Whether the first line names the columns; auto: it does if no column except "
               "the label's has a number, or if it holds the training data's names.",
       .choices = {"auto", "yes", "no"}});
  return options;
}

}  // namespace

LoadedData LoadTable(const Options& options, const ReadFiles& files, const TableFile& file) {
  return TableLoader(options, files, file).Load();
}

FormatEntry csv_format() {
  return {.name = "csv",
          .kind = FormatKind::kTable,
          .summary = "CSV: numbers, categories, and a class or targets, in columns; dense",
          .options = CsvOptions(),
          .load = LoadCsv};
}

}  // namespace yoke
