// ModelFile: opens a checkpoint and data that fits it.
#include "cli/model_file.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/check.h"
#include "base/registry.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// [data] for other files: the job's own when the format stays, else nothing but the format.
Value DataSection(const Job& job, const std::string& format) {
  const Value& section = job.data();
  const bool same = format.empty() || *section.Find("format") == Value(format);
  return same ? section : Value(Table{{"format", format}});
}

}  // namespace

void AddThreadsOption(CLI::App& app, int& threads) {
  constexpr int kMost = 4096;
  app.add_option("--threads", threads, "Threads that compute (default: as the job says)")
      ->option_text("N")
      ->check(CLI::Range(1, kMost));
}

std::string CheckpointFolder(const std::string& path) {
  Require(fs::exists(path), "there is no checkpoint {}", path);
  Require(fs::is_directory(path), "{} is no checkpoint: expected a folder such as runs/NAME/last",
          path);
  if (fs::exists(path + "/model.safetensors")) return path;
  if (fs::exists(path + "/last")) return path + "/last";
  Require(!fs::exists(path + "/job.toml"), "the run {} has no checkpoint yet", path);
  throw UserError(fmt::format("{} is no checkpoint: it holds no model.safetensors", path));
}

ModelFile::ModelFile(const std::string& path)
    : checkpoint_(Checkpoint::Open(CheckpointFolder(path))),
      job_(MakeJob(head().job, "job", /*folder=*/"")),
      graph_(BuildModel(job_.model(), TaskOf(head().data))),
      params_(graph_.layout(), Cpu()) {
  checkpoint_.Load(params_);
  view_ = params_.View();
  if (ArithmeticOf(job_) == DType::kBf16) view_ = low_.Refresh(view_);
}

std::unique_ptr<Reader> OpenFor(const ModelFile& model, const OpenFiles& request) {
  const Value section = DataSection(model.job(), request.format);
  const std::string& name = *section.Find("format")->AsString();
  const FormatEntry& format = FindEntry(formats(), "format", name);
  Require(request.files.empty() || !format.synthetic,
          "the model's data is made by '{}', which reads no files: say how these are written with "
          "--format",
          name);
  for (const std::string& file : request.files)
    Require(fs::exists(file), "there is no file {}", file);
  return OpenLike(section, {.paths = request.files,
                            .like = model.head().data,
                            .labels_optional = request.labels_optional,
                            .seed = model.job().seed()});
}

}  // namespace yoke
