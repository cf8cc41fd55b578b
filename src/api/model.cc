// Model: computes few examples on the calling thread alone, more on threads of its own, so that a
// caller's thread keeps its settings and a process may fork afterwards.
#include "api/model.h"

#include <algorithm>
#include <exception>
#include <filesystem>

#include "api/model_file.h"
#include "base/check.h"
#include "base/files.h"
#include "base/registry.h"
#include "base/thread.h"
#include "data/writers.h"
#include "kernels/threads.h"
#include "optim/rule.h"
#include "train/files.h"
#include "train/job/parts.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

std::unique_ptr<const ModelFile> OpenHere(const std::string& path) {
  RequireInstructions();
  return OpenModel(path);
}

/// Runs work() on a thread with a team of so many.
template <typename Work>
void OnTeam(int threads, const Work& work) {
  std::exception_ptr failure;
  StartThread([&] {
    try {
      SetKernelThreads(threads);
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

/// Runs work() on the calling thread without a team.
template <typename Work>
void Alone(const Work& work) {
  const int before = KernelThreads();
  const uint32_t rounding = FlushDenormals();
  RestoreKernelThreads(1);
  const auto restore = [&] {
    RestoreKernelThreads(before);
    ComputeAs(rounding);
  };
  try {
    work();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

/// That of a rule without any.
RuleState NoState(const ParamLayout& layout) {
  const RuleEntry& sgd = FindEntry(rules(), "rule", "sgd");
  return {layout, *sgd.make(Options("train", Table{}, sgd.options)), Cpu()};
}

/// The header for a checkpoint that depends on no other file: the layers stand for one.
CheckpointHeader HeaderOf(const ModelFile& file) {
  CheckpointHeader header = file.header();
  header.replicas.clear();
  const Value& model = file.job().model();
  if (model.Find("file") || model.Find("start"))
    header.job.Set("model", Table{{"layer", ModelLayers(model, TaskOf(header.data))}});
  return header;
}

/// Starting a thread and its team takes as long as so many operations.
constexpr double kWorthTeam = 2e7;

}  // namespace

Model::Model(const std::string& path)
    : file_(OpenHere(path)),
      threads_(file_->job().Threads()),
      operations_(file_->graph().Price(1).operations / 3),
      batch_(PredictionBatch(file_->graph(), 0)) {}

Model::~Model() = default;

std::unique_ptr<Reader> Model::Read(Examples examples) const {
  return ReaderOf(std::move(examples), data());
}

bool Model::NeedsTeam(int64_t examples) const {
  return threads_ > 1 && operations_ * static_cast<double>(examples) > kWorthTeam;
}

template <typename Work>
void Model::ForEachBatch(int64_t examples, int64_t batch, const Work& work) {
  const std::lock_guard lock(mutex_);
  const auto all = [&] {
    for (int64_t at = 0; at < examples; at += batch) work(at, std::min(batch, examples - at));
  };
  NeedsTeam(examples) ? OnTeam(threads_, all) : Alone(all);
}

void Model::Predict(Examples examples, std::span<float> probabilities) {
  const std::unique_ptr<Reader> reader = Read(std::move(examples));
  Check(std::ssize(probabilities) == reader->Size() * outputs(), "room for other probabilities");
  std::unique_ptr<Predictor>& predictor = NeedsTeam(reader->Size()) ? on_team_ : alone_;
  ForEachBatch(reader->Size(), batch_, [&](int64_t begin, int64_t size) {
    if (!predictor) predictor = std::make_unique<Predictor>(*file_, PredictorRequest{.all = true});
    predictor->Forward(*reader, begin, size);
    for (int64_t i = 0; i < size; ++i) {
      const auto row = probabilities.begin() + (begin + i) * outputs();
      if (data().regression)
        std::ranges::copy(predictor->Values(i), row);
      else
        std::ranges::copy(predictor->Probabilities(i), row);
    }
  });
}

std::vector<std::vector<Guess>> Model::Best(Examples examples, int top) {
  Require(!data().regression, "the model predicts numbers: use predict");
  Require(top >= 1, "top: expected at least 1, got {}", top);
  const std::unique_ptr<Reader> reader = Read(std::move(examples));
  Predictor predictor(*file_, {.top = top});
  std::vector<std::vector<Guess>> best;
  ForEachBatch(reader->Size(), PredictionBatch(file_->graph(), top),
               [&](int64_t begin, int64_t size) {
                 predictor.Forward(*reader, begin, size);
                 for (int64_t i = 0; i < size; ++i) best.push_back(predictor.Best(i));
               });
  return best;
}

Metrics Model::Evaluate(Examples examples) {
  const std::unique_ptr<Reader> reader = Read(std::move(examples));
  const PlacedValues values(*file_);
  Metrics metrics;
  OnTeam(threads_,
         [&] { metrics = yoke::Evaluate(*reader, EvaluationOf(*file_, values, threads_)); });
  RequirePossible(metrics, *file_);
  return metrics;
}

void Model::Export(const std::string& path) const {
  Require(path.ends_with(".onnx"), "{}: expected a name that ends in .onnx", path);
  RequireNoInput(path, InputsOf(file_->job(), file_->folder()));
  const std::string bytes = OnnxOf(*file_);
  OutputFile file(path);
  file.Write(bytes);
  file.Commit();
}

void Model::Save(const std::string& path) const {
  namespace fs = std::filesystem;
  const TemporaryFolder folder("yoke-model");
  const ScratchFiles scratch;
  const CheckpointHeader header = HeaderOf(*file_);
  const ParamLayout& layout = file_->graph().layout();
  const std::string written =
      WriteCheckpoint({.run = folder.path()}, {.header = header,
                                               .layout = layout,
                                               .values = file_->params().values.Host().data(),
                                               .state = NoState(layout)});
  for (const char* name : {"checkpoint.json", "model.safetensors"})
    fs::copy_file(fs::path(written) / name, fs::path(path) / name);
}

}  // namespace yoke
