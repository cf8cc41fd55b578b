// LIBSVM text: `label id:value id:value ...` per line, one class each, features counted from 0 or
// 1.
#include "data/classes.h"
#include "data/memory_reader.h"
#include "data/text.h"

namespace yoke {
namespace {

constexpr int64_t kLargestId = INT32_MAX - 1;
// A larger id is a mistake, or a hash that needs the key `features`: its weights alone would take
// gigabytes.
constexpr int64_t kManyFeatures = 1 << 28;

// Reads all files of a job. Ids are stored as written until the first index is known.
class LibsvmLoader {
 public:
  LibsvmLoader(const Options& options, const ReadFiles& files)
      : files_(files),
        classes_(files.like),
        multi_label_(files.like ? files.like->multi_label
                                : options.String("task") == "multi_label"),
        first_index_(FirstIndex(options, files.like)) {
    if (files.like) features_ = files.like->input[0];
    if (options.Has("features")) features_ = options.Int("features");
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    for (const std::string& path : files_.train) ReadFile(path, loaded.train);
    if (!files_.like && multi_label_)
      CloseLabelSets(classes_, loaded.train.labels);
    else if (!files_.like)
      classes_.Close(loaded.train.classes);
    for (const std::string& path : files_.test) ReadFile(path, loaded.test);
    Finish(loaded);
    return loaded;
  }

 private:
  static int64_t FirstIndex(const Options& options, const DataInfo* like) {
    if (options.Has("first_index")) return options.Int("first_index");
    return like ? like->first_index : -1;
  }

  // The largest valid id. Until the first index is known, that of files that count from 1; Finish
  // checks again.
  int64_t LargestId() const {
    if (features_ < 0) return kLargestId;
    return first_index_ == 0 ? features_ - 1 : features_;
  }

  void ReadFile(const std::string& path, MemoryData& data) {
    const auto source = files_.open(path);
    ReadSource(*source, data);
  }

  void ReadSource(ByteSource& source, MemoryData& data) {
    LineReader lines(source);
    const int64_t before = data.size;
    for (std::string_view line; lines.NextFilled(line);) {
      line = line.substr(0, line.find('#'));  // the rest is a comment
      if (Trimmed(line).empty()) continue;
      ReadLine(lines, line, data);
      ++data.size;
    }
    Require(data.size > before, "{}: the file is empty; expected lines 'label id:value ...'",
            source.Name());
  }

  void ReadLine(const LineReader& lines, std::string_view line, MemoryData& data) {
    const char* begin = line.data();
    const char* end = begin + line.size();
    while (begin != end && IsBlank(*begin)) ++begin;
    multi_label_ ? ReadLabels(lines, begin, end, data) : ReadLabel(lines, begin, end, data);
    const int64_t row = data.sparse.ids.size();
    while (ReadPair(lines, begin, end, data.sparse)) {
    }
    EndSparseRow(lines, row, data.sparse);
  }

  // `1,4,7`, or nothing before the first pair: no label.
  void ReadLabels(const LineReader& lines, const char*& begin, const char* end, MemoryData& data) {
    std::string_view word = WordAt(begin, end);
    if (word.find(':') == word.npos) {
      begin += word.size();
      while (!word.empty()) {
        AddNumbered(lines, word.substr(0, word.find(',')), data.labels);
        word.remove_prefix(std::min(word.find(','), word.size() - 1) + 1);
      }
    }
    data.labels.EndRow();
  }

  void AddNumbered(const LineReader& lines, std::string_view label, SparseArrays& rows) {
    double number = 0;
    if (!ParseNumber(label, number))
      lines.Fail("expected labels that are numbers, with commas between them, got {}",
                 Quoted(label));
    const int32_t index = classes_.Index(label);
    if (index < 0 && !files_.labels_optional)
      lines.Fail("the label {} is none of the training data: {}", Quoted(label), classes_.Known());
    if (index >= 0) AddLabel(index, rows);
  }

  void ReadLabel(const LineReader& lines, const char*& begin, const char* end, MemoryData& data) {
    const std::string_view label = WordAt(begin, end);
    double number = 0;
    if (files_.labels_optional && label.find(':') != label.npos) {
      labelled_ = false;
      data.classes.push_back(-1);
      return;
    }
    if (!ParseNumber(label, number))
      lines.Fail(
          "expected a label that is a number, got {}{}", Quoted(label),
          label.find(',') != label.npos ? "; data.task = \"multi_label\" reads several" : "");
    const int32_t index = classes_.Index(label);
    if (index < 0 && !files_.labels_optional)
      lines.Fail("the label {} is none of the training classes: {}", Quoted(label),
                 classes_.Known());
    labelled_ = labelled_ && index >= 0;
    data.classes.push_back(index);
    begin += label.size();
  }

  // Reads one `id:value`; false at the end of the line.
  bool ReadPair(const LineReader& lines, const char*& begin, const char* end, SparseArrays& rows) {
    while (begin != end && IsBlank(*begin)) ++begin;
    if (begin == end) return false;
    const char* word = begin;
    int64_t id = 0;
    float value = 0;
    if (!ScanIndex(begin, end, kLargestId, id) || begin == end || *begin++ != ':' ||
        !ScanFloat(begin, end, value) || (begin != end && !IsBlank(*begin)))
      FailPair(lines, WordAt(word, end));
    CheckId(lines, id);
    rows.ids.push_back(static_cast<int32_t>(id));
    rows.values.push_back(value);
    return true;
  }

  [[noreturn]] static void FailPair(const LineReader& lines, std::string_view word) {
    if (word.starts_with("qid:"))
      lines.Fail("{}: queries ('qid') are not supported; expected 'id:value'", Quoted(word));
    lines.Fail("expected 'id:value' with a whole id below {} and a finite value, got {}", INT32_MAX,
               Quoted(word));
  }

  void CheckId(const LineReader& lines, int64_t id) {
    if (id == 0 && first_index_ < 0) first_index_ = 0;
    if (id == 0 && first_index_ == 1)
      lines.Fail("feature 0, but features are counted from 1 here (first_index)");
    if (id > largest_) {
      largest_ = id;
      largest_place_ = fmt::format("{}:{}", lines.Name(), lines.Number());
      if (id > LargestId()) FailFeature();
    }
  }

  [[noreturn]] void FailFeature() const {
    throw UserError(fmt::format("{}: feature {} is outside; expected {} features, counted from {}",
                                largest_place_, largest_, features_, first_index_ == 0 ? 0 : 1));
  }

  void Finish(LoadedData& loaded) {
    if (first_index_ < 0) first_index_ = 1;
    if (largest_ > LargestId()) FailFeature();
    Require(features_ >= 0 || largest_ < kManyFeatures,
            "{}: feature {} would make a model of so many inputs; expected ids below {}, or "
            "data.features where so many are meant",
            largest_place_, largest_, kManyFeatures);
    for (MemoryData* data : {&loaded.train, &loaded.test})
      for (int32_t& id : data->sparse.ids.span()) id -= static_cast<int32_t>(first_index_);
    const int64_t features = features_ < 0 ? largest_ + 1 - first_index_ : features_;
    Require(features > 0, "{}: no line holds a feature; expected 'label id:value ...'",
            (files_.train.empty() ? files_.test : files_.train).front());
    loaded.info = {.input = {features},
                   .sparse = true,
                   .multi_label = multi_label_,
                   .outputs = static_cast<int64_t>(classes_.names().size()),
                   .label_names = classes_.names(),
                   .labelled = labelled_,
                   .first_index = first_index_};
  }

  const ReadFiles& files_;
  ClassLabels classes_;
  bool multi_label_;
  int64_t first_index_;    // -1: unknown yet
  int64_t features_ = -1;  // -1: as many as the files have
  int64_t largest_ = 0;
  std::string largest_place_;
  bool labelled_ = true;
};

LoadedData LoadLibsvm(const Options& options, const ReadFiles& files) {
  return LibsvmLoader(options, files).Load();
}

}  // namespace

FormatEntry libsvm_format() {
  return {.name = "libsvm",
          .summary = "LIBSVM text: a class and id:value pairs per line; sparse",
          .options = {{.name = "task",
                       .fallback = "classes",
                       .help = "What labels are: classes, one an example, or sets such as 1,4,7.",
                       .choices = {"classes", "multi_label"}},
                      {.name = "first_index",
                       .type = OptionType::kInt,
                       .help = "Id of the first feature in the files, 1 or 0 (by default 0 if a 0 "
                               "occurs, otherwise 1).",
                       .minimum = 0,
                       .maximum = 1}},
          .load = LoadLibsvm};
}

}  // namespace yoke
