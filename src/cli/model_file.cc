// ModelFile: opens a checkpoint and data that fits it.
#include "cli/model_file.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/registry.h"
#include "cli/standard_input.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// [data] for other files: the job's section if the format is the same, otherwise only the format.
Value DataSection(const Job& job, const std::string& format) {
  const Value& section = job.data();
  const bool same = format.empty() || *section.Find("format") == Value(format);
  return same ? section : Value(Table{{"format", format}});
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

std::unique_ptr<Reader> OpenNamed(const ModelFile& model, const OpenFiles& request, Output& out) {
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
  auto reader = OpenLike(section, {.paths = request.files,
                                   .like = model.header().data,
                                   .labels_optional = request.labels_optional,
                                   .seed = model.job().seed(),
                                   .notes = &notes});
  for (const std::string& note : notes)
    out.Note(request.rename ? request.rename(note) : note, request.notes_aside);
  return reader;
}

}  // namespace

void AddThreadsOption(Arguments& arguments, int& threads) {
  constexpr int kMost = 4096;
  arguments.Option("--threads", "N", &threads, "Compute threads (default: as in the job)")
      .Within(1, kMost);
}

void AddSearchOptions(Arguments& arguments, SearchOptions& options) {
  constexpr int kMostTables = 1024, kMostIds = 1 << 16;
  arguments
      .Option("--search", "HOW", &options.search,
              "How the best labels are found: exact scores all of them, tables only those that "
              "hash tables find (default: exact)")
      .OneOf({"exact", "tables"});
  const auto add = [&](const std::string& name, int& value, int most, const std::string& help) {
    arguments.Option(name, "N", &value, "With --search tables: " + help).Within(1, most);
  };
  add("--hashes", options.settings.hashes, kMaxKeyBits,
      "hash bits per key; fewer find more labels (default: from the number of labels)");
  add("--tables", options.settings.tables, kMostTables,
      "hash tables; more find more labels (default: 32)");
  add("--bucket", options.settings.bucket, kMostIds,
      "labels per bucket; more find more labels (default: 64)");
}

std::string CheckpointFolder(const std::string& path) {
  Require(fs::exists(path), "there is no checkpoint {}", path);
  Require(fs::is_directory(path),
          "{} is not a checkpoint: expected a folder such as runs/NAME/last", path);
  if (fs::exists(path + "/model.safetensors")) return path;
  if (fs::exists(path + "/last")) return path + "/last";
  Require(!fs::exists(path + "/job.toml"), "the run {} has no checkpoint yet", path);
  throw UserError(fmt::format("{} is not a checkpoint: it holds no model.safetensors", path));
}

ModelFile::ModelFile(const std::string& path)
    : checkpoint_(Checkpoint::Open(CheckpointFolder(path))),
      job_(MakeJob(header().job, "job", /*folder=*/"")),
      graph_(BuildModel(job_.model(), TaskOf(header().data))),
      params_(graph_.layout(), Cpu()) {
  checkpoint_.Load(params_);
  view_ = params_.View();
  if (ArithmeticOf(job_) == DType::kBf16) view_ = bf16_.Refresh(view_);
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

std::unique_ptr<OutputTables> TablesFor(const ModelFile& model, const Reader& reader,
                                        const SearchOptions& options) {
  constexpr int64_t kSample = 1024;
  const auto& [family, hashes, tables, bucket] = options.settings;
  const bool search = options.search == "tables";
  Require(search || hashes + tables + bucket == 0,
          "--hashes, --tables and --bucket need --search tables");
  if (!search) return nullptr;
  std::vector<int64_t> examples(std::min(kSample, reader.Size()));
  for (size_t i = 0; i < examples.size(); ++i)
    examples[i] = static_cast<int64_t>(i) * reader.Size() / static_cast<int64_t>(examples.size());
  Batch sample;
  reader.Read({.examples = examples}, sample);
  return std::make_unique<OutputTables>(model.graph(), model.params(), sample, options.settings);
}

}  // namespace yoke
