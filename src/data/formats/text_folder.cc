// text-folder: one text a file, in folders or in an archive; the folder around a file names its
// class. The words are sparse features.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/options.h"
#include "data/classes.h"
#include "data/folder_files.h"
#include "data/memory_reader.h"
#include "data/table_file.h"
#include "data/word_column.h"

namespace yoke {
namespace {

// Texts are held until it is known which are for training, whose words are the vocabulary.
class TextFolderLoader {
 public:
  TextFolderLoader(const Options& options, const ReadFiles& files)
      : files_(files),
        classes_(files.like),
        known_(files.like ? files.like : files.features),
        words_(known_ ? WordColumn(EncodingOf(*known_)) : WordColumn(WordFeaturesOf(options))) {
    if (known_) encoding_ = EncodingOf(*known_);
    if (files.features && !files.like) notes_ = NotesOfStart(options, WordOptions());
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    if (!files_.train.empty()) ReadTraining(loaded);
    Require(files_.train.empty() || files_.test.empty() || loaded.test.size == 0,
            "{}: its texts have a folder test, and data.test names others; expected one of them",
            files_.train.empty() ? "" : files_.train[0]);
    if (!files_.test.empty()) ReadTest(loaded.test);
    loaded.info = {.input = {encoding_.Features()},
                   .sparse = true,
                   .outputs = std::ssize(classes_.names()),
                   .label_names = classes_.names(),
                   .encodings = {encoding_},
                   .labelled = labelled_};
    loaded.notes = std::move(notes_);
    return loaded;
  }

 private:
  static const ColumnEncoding& EncodingOf(const DataInfo& like) {
    Require(like.encodings.size() == 1 && like.encodings[0].IsWords(),
            "texts cannot be read for a model that was trained on other data");
    return like.encodings[0];
  }

  void ReadTraining(LoadedData& loaded) {
    const std::vector<FolderFile> texts = ReadAll(files_.train);
    std::vector<std::string> paths;
    for (const FolderFile& text : texts) paths.push_back(text.path);
    const std::vector<FolderSplit> splits = SplitsOf(paths);
    const auto take = [&](FolderSplit split, MemoryData& data) {
      for (size_t i = 0; i < texts.size(); ++i)
        if ((splits.empty() ? FolderSplit::kTrain : splits[i]) == split) Add(texts[i], data);
      if (split == FolderSplit::kTrain) classes_.Close(data.classes);
      if (split == FolderSplit::kTrain && !known_) words_.Close(encoding_);
      TakeRows(data);
    };
    take(FolderSplit::kTrain, loaded.train);
    take(FolderSplit::kValidation, loaded.validation);
    take(FolderSplit::kTest, loaded.test);
    if (!splits.empty())
      notes_.push_back(fmt::format("texts by folder: {} training, {} validation, {} test",
                                   loaded.train.size, loaded.validation.size, loaded.test.size));
  }

  // Of files that hold training texts, too, those of their folder `test`; not in predictions.
  void ReadTest(MemoryData& data) {
    const std::vector<FolderFile> texts = ReadAll(files_.test);
    std::vector<std::string> paths;
    for (const FolderFile& text : texts) paths.push_back(text.path);
    std::vector<FolderSplit> splits = SplitsOf(paths);
    if (std::ranges::count(splits, FolderSplit::kTest) == 0 || files_.labels_optional)
      splits.assign(texts.size(), FolderSplit::kTest);
    for (size_t i = 0; i < texts.size(); ++i)
      if (splits[i] == FolderSplit::kTest) Add(texts[i], data);
    TakeRows(data);
  }

  std::vector<FolderFile> ReadAll(const std::vector<std::string>& paths) {
    std::vector<FolderFile> all;
    for (const std::string& path : paths) {
      const auto first = std::ssize(all);
      const PassedOver passed_over =
          ForEachFile(path, files_.open, FileKind::kTexts,
                      [&](FolderFile file) { all.push_back(std::move(file)); });
      Require(std::ssize(all) > first, "{}: holds no text", path);
      for (const std::string& sentence : passed_over.Sentences())
        notes_.push_back(fmt::format("{}: {}", path, sentence));
      std::sort(all.begin() + first, all.end(),
                [](const FolderFile& a, const FolderFile& b) { return a.path < b.path; });
    }
    return all;
  }

  void Add(const FolderFile& file, MemoryData& data) {
    const std::string problem = words_.Add(file.bytes);
    Require(problem.empty(), "{}: {}", file.name, problem);
    data.classes.push_back(ClassOf(file, classes_, files_.labels_optional));
    labelled_ = labelled_ && data.classes[data.size] >= 0;
    data.files.push_back(file.name);
    ++data.size;
  }

  void TakeRows(MemoryData& data) {
    for (int64_t r = 0; r < data.size; ++r) {
      words_.Append(r, 0, data.sparse);
      data.sparse.EndRow();
    }
    words_.Clear();
  }

  const ReadFiles& files_;
  ClassLabels classes_;
  const DataInfo* known_;  // whose words are the features; null: the training texts tell
  WordColumn words_;
  ColumnEncoding encoding_;
  bool labelled_ = true;
  std::vector<std::string> notes_;
};

LoadedData LoadTextFolder(const Options& options, const ReadFiles& files) {
  return TextFolderLoader(options, files).Load();
}

}  // namespace

FormatEntry text_folder_format() {
  return {
      .name = "text-folder",
      .summary = "Texts, a file each, in one folder per class, on disk or in an archive; sparse",
      .options = WordOptions(),
      .holds_splits = true,
      .load = LoadTextFolder};
}

}  // namespace yoke
