// Opens data that fits a model; standard input as a file.
#include "cli/model_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "base/check.h"
#include "base/files.h"
#include "base/json.h"
#include "base/registry.h"
#include "cli/command.h"
#include "data/source.h"
#include "model/onnx/onnx.h"
#include "model/ranking.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// [data] for other files: the job's section if the format is the same, otherwise only the format.
Value DataSection(const Job& job, const std::string& format) {
  const Value& section = job.data();
  const bool same = format.empty() || *section.Find("format") == Value(format);
  return same ? section : Value(Table{{"format", format}});
}

bool IsFileFromItsBeginning() {
  struct stat status {};
  Require(fstat(STDIN_FILENO, &status) == 0, "standard input cannot be read: {}", ReasonOf(errno));
  return S_ISREG(status.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
}

int NewFile() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  std::string name = folder + "/yoke-input-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0)
    throw Error(
        fmt::format("{}: no temporary file can be made there: {} (TMPDIR names another "
                    "folder)",
                    folder, ReasonOf(errno)));
  unlink(name.c_str());
  return file;
}

// Reads up to a piece; 0 bytes at the end.
std::string_view ReadPiece(std::vector<char>& piece) {
  for (;;) {
    const ssize_t size = read(STDIN_FILENO, piece.data(), piece.size());
    if (size >= 0) return {piece.data(), static_cast<size_t>(size)};
    Require(errno == EINTR, "standard input cannot be read: {}", ReasonOf(errno));
  }
}

void WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      throw Error(fmt::format("no room for standard input in {}: {} (TMPDIR names another folder)",
                              std::filesystem::temp_directory_path().string(), ReasonOf(errno)));
    bytes.remove_prefix(static_cast<size_t>(size));
  }
}

/// The file `-` of a command line as a path that can be opened and read again: formats read a file
/// twice or by seeks, which a pipe does not allow. So standard input is copied to a temporary file
/// without a name, unless it is a regular file at its beginning.
class StandardInput {
 public:
  /// Throws UserError if it is closed or endless, Error without disk space.
  StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput();

  /// Valid while this object lives.
  const std::string& path() const { return path_; }
  /// A text in which the path stands for what it is.
  std::string Named(std::string text) const;

 private:
  void Copy() const;

  int file_ = -1;  // the copy
  std::string path_;
};

StandardInput::StandardInput() : file_(IsFileFromItsBeginning() ? -1 : NewFile()) {
  path_ = fmt::format("/proc/self/fd/{}", file_ < 0 ? STDIN_FILENO : file_);
  if (file_ >= 0) Copy();
}

StandardInput::~StandardInput() {
  if (file_ >= 0) close(file_);
}

void StandardInput::Copy() const {
  std::vector<char> piece(1 << 18);
  const int64_t most = MostBytes(STDIN_FILENO);
  int64_t bytes = 0;
  for (std::string_view read; !(read = ReadPiece(piece)).empty();) {
    bytes += static_cast<int64_t>(read.size());
    Require(bytes <= most, "standard input is longer than {} GB; expected a file", most >> 30);
    WriteAll(file_, read);
  }
}

std::string StandardInput::Named(std::string text) const {
  for (size_t at = 0; (at = text.find(path_, at)) != text.npos;)
    text.replace(at, path_.size(), "standard input");
  return text;
}

// A reader of standard input, which gives its name.
class ReaderOfInput : public Reader {
 public:
  ReaderOfInput(std::unique_ptr<Reader> reader, std::unique_ptr<StandardInput> input)
      : reader_(std::move(reader)), input_(std::move(input)) {}
  const DataInfo& Info() const override { return reader_->Info(); }
  int64_t Size() const override { return reader_->Size(); }
  void Read(const ReadRequest& request, Batch& batch) const override {
    reader_->Read(request, batch);
  }
  std::string FileOf(int64_t example) const override {
    return input_->Named(reader_->FileOf(example));
  }

 private:
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<StandardInput> input_;
};

/// What is known of an ONNX file's data, with the normalization that yoke noted in it; a file of
/// another program takes input as the format gives it.
DataInfo InfoFor(const ModelFile& model, const std::string& format) {
  DataInfo info = model.header().data;
  if (!model.folder().ends_with(".onnx")) return info;
  const auto facts = ReadOnnx(model.folder()).metadata;
  const auto numbers = [&](const char* key) {
    const auto found = facts.find(key);
    const Value list = found == facts.end() ? Value(List{}) : ParseJson(found->second);
    return NumbersAt(Table{{"list", list}}, "list");
  };
  const bool images = IsOfKind(Table{{"format", format}}, FormatKind::kImages);
  const auto scale = facts.find("input_scale");
  info.normalization.scale = scale != facts.end()                 ? std::stod(scale->second)
                             : images && !facts.contains("input") ? 1.0 / 255
                                                                  : 1;
  info.normalization.mean = numbers("input_mean");
  info.normalization.deviation = numbers("input_deviation");
  if (info.label_names.empty() && !info.regression && !info.multi_label)
    for (int64_t i = 0; i < info.outputs; ++i) info.label_names.push_back(std::to_string(i));
  return info;
}

std::vector<int64_t> NumbersBelow(int64_t examples) {
  std::vector<int64_t> all(static_cast<size_t>(examples));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::unique_ptr<Reader> OpenNamed(const ModelFile& model, const OpenFiles& request, Output& out) {
  if (request.training) {
    Value own = model.job().data();
    own.Erase("augment");
    DataSets sets = OpenData(own, model.job().seed());
    const Normalization &now = sets.train->Info().normalization,
                        &then = model.header().data.normalization;
    Require(now.mean == then.mean && now.deviation == then.deviation,
            "--train: the training data are normalized in another way than when the model was "
            "trained: they have changed, or data.normalize has another default now");
    return Subset(sets.train, NumbersBelow(sets.train->Size()));
  }
  const Value section = DataSection(model.job(), request.format);
  const std::string& name = *section.Find("format")->AsString();
  const FormatEntry& format = FindEntry(formats(), "format", name);
  Require(request.files.empty() || !format.synthetic,
          "the model's data comes from '{}', which reads no files: name the format of these files "
          "with --format",
          name);
  for (const std::string& file : request.files)
    Require(fs::exists(file), "there is no file {}", file);
  std::vector<std::string> notes;
  const DataInfo like = InfoFor(model, name);
  auto reader = OpenLike(section, {.paths = request.files,
                                   .like = like,
                                   .labels_optional = request.labels_optional,
                                   .seed = model.job().seed(),
                                   .notes = &notes});
  for (const std::string& note : notes)
    out.Note(request.rename ? request.rename(note) : note, request.notes_aside);
  return reader;
}

std::shared_ptr<const OutputSearch> TrainedTables(const ModelFile& model) {
  RequireRanked(model.graph());
  auto tables = model.TrainedTables();
  Require(tables != nullptr,
          "{} has no hash tables, which lsh_linear leaves there unless its sampler is uniform: "
          "expected --search tables, which builds them",
          model.folder());
  return tables;
}

}  // namespace

void SearchOptions::Declare(Arguments& arguments) {
  constexpr int kMostTables = 1024, kMostIds = 1 << 16, kMostThreads = 4096;
  arguments
      .Option("--search", "HOW", &search,
              "How the best labels are found: exact scores all of them, tables only those that "
              "hash tables find, trained those in the tables of lsh_linear's training (default: "
              "exact)")
      .OneOf({"exact", "tables", "trained"});
  const auto add = [&](const std::string& name, int& value, int most, const std::string& help) {
    arguments.Option(name, "N", &value, "With --search tables: " + help).Within(1, most);
  };
  add("--hashes", settings.hashes, kMaxKeyBits,
      "hash bits per key; fewer find more labels (default: from the number of labels)");
  add("--tables", settings.tables, kMostTables, "hash tables; more find more labels (default: 32)");
  add("--bucket", settings.bucket, kMostIds,
      "labels per bucket; more find more labels (default: 64)");
  arguments.Option("--threads", "N", &threads, "Compute threads (default: as in the job)")
      .Within(1, kMostThreads);
}

std::unique_ptr<Reader> OpenFor(const ModelFile& model, const OpenFiles& request, Output& out) {
  const auto dash = std::find(request.files.begin(), request.files.end(), "-");
  if (dash == request.files.end()) return OpenNamed(model, request, out);
  Require(std::find(dash + 1, request.files.end(), "-") == request.files.end(),
          "standard input (-) is named twice; it can be read once");
  OpenFiles read = request;
  auto input = std::make_unique<StandardInput>();
  read.files[static_cast<size_t>(dash - request.files.begin())] = input->path();
  read.rename = [&input](const std::string& text) { return input->Named(text); };
  try {
    auto reader = OpenNamed(model, read, out);
    return std::make_unique<ReaderOfInput>(std::move(reader), std::move(input));
  } catch (const UserError& error) {
    throw UserError(input->Named(error.what()));
  }
}

std::shared_ptr<const OutputSearch> TablesFor(const ModelFile& model, const Reader& reader,
                                              const SearchOptions& options, bool aside,
                                              Output& out) {
  constexpr int64_t kSample = 1024;
  const auto& [family, hashes, tables, bucket] = options.settings;
  const bool build = options.search == "tables";
  Require(build || hashes + tables + bucket == 0,
          "--hashes, --tables and --bucket need --search tables");
  if (options.search == "trained") {
    auto trained = TrainedTables(model);
    if (trained->untrained())
      out.Note(
          fmt::format("{}: its hash tables are of the weights before training, because they "
                      "were not rebuilt since, and find little: --search tables builds new ones",
                      model.folder()),
          aside);
    return trained;
  }
  if (!build) return nullptr;
  std::vector<int64_t> examples(std::min(kSample, reader.Size()));
  for (size_t i = 0; i < examples.size(); ++i)
    examples[i] = static_cast<int64_t>(i) * reader.Size() / static_cast<int64_t>(examples.size());
  Batch sample;
  reader.Read({.examples = examples}, sample);
  return std::make_shared<OutputTables>(model.graph(), model.params(), sample, options.settings);
}

}  // namespace yoke
