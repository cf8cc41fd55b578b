// ModelFile: reads weights and what is known of their data.
#include "api/model_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "model/onnx/onnx.h"
#include "model/output_layers.h"
#include "model/ranking.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

Value JobOfFile(const std::string& path) {
  return Table{{"data", Table{{"format", "memory"}}},
               {"model", Table{{"file", fs::absolute(path).string()}}}};
}

/// The lists that yoke notes in its files (MetadataOf) by key.
Table ListsOf(const std::map<std::string, std::string>& metadata) {
  Table lists;
  for (const char* key : {"classes", "targets", "target_mean", "target_deviation"})
    if (const auto found = metadata.find(key); found != metadata.end())
      lists.emplace_back(key, ParseJson(found->second));
  return lists;
}

/// A number of each target; `usual` where none is noted.
std::vector<double> OfTargets(const Value& notes, const char* key, int64_t targets, double usual) {
  std::vector<double> numbers;
  if (notes.Find(key)) numbers = NumbersAt(notes, key);
  if (numbers.empty()) numbers.assign(targets, usual);
  return numbers;
}

/// Adds what yoke noted of the data in a file of its own. Throws UserError if it is damaged.
void AddNotes(const std::string& path, const OnnxModel& model, DataInfo& data) {
  const Value notes = ListsOf(model.metadata);
  const auto expect_outputs = [&](const char* key, size_t found) {
    Require(std::cmp_equal(found, data.outputs), "{}: its metadata has {} {}; expected {}", path,
            found, key, data.outputs);
  };
  const char* names = data.regression ? "targets" : "classes";
  if (notes.Find(names)) {
    data.label_names = TextsAt(notes, names);
    expect_outputs(names, data.label_names.size());
  }
  if (!data.regression) return;
  data.target_mean = OfTargets(notes, "target_mean", data.outputs, 0);
  data.target_deviation = OfTargets(notes, "target_deviation", data.outputs, 1);
  expect_outputs("target_mean", data.target_mean.size());
  expect_outputs("target_deviation", data.target_deviation.size());
}

DataInfo DataOfFile(const std::string& path) {
  const OnnxModel model = ReadOnnx(path);
  const auto loss = LossOf(Table{{"type", model.loss}});
  DataInfo data{.input = model.input,
                .multi_label = model.loss == "sigmoid_cross_entropy",
                .regression = loss && IsRegression(*loss),
                .outputs = model.outputs};
  if (!model.loss.empty()) AddNotes(path, model, data);
  return data;
}

/// "0.5" or "[0.5, 0.25]".
std::string ListText(const std::vector<double>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Metadata for readers of the file: how input is made from data, and the names of the classes.
Metadata MetadataOf(const DataInfo& data, bool complete) {
  Metadata metadata = {{"input", complete ? "value" : InputFormula(data)}};
  const Normalization by = complete ? Normalization() : data.normalization;
  if (by.scale != 1) metadata.emplace_back("input_scale", fmt::format("{}", by.scale));
  if (!by.mean.empty()) metadata.emplace_back("input_mean", ListText(by.mean));
  if (!by.deviation.empty()) metadata.emplace_back("input_deviation", ListText(by.deviation));
  if (!data.label_names.empty())
    metadata.emplace_back(data.regression ? "targets" : "classes",
                          FormatJson(ListOf(data.label_names)));
  if (data.regression) {
    metadata.emplace_back("target_mean", ListText(data.target_mean));
    metadata.emplace_back("target_deviation", ListText(data.target_deviation));
  }
  return metadata;
}

}  // namespace

ModelFile::ModelFile(const std::string& path)
    : checkpoint_(Checkpoint::Open(CheckpointFolder(path))),
      folder_(checkpoint_->folder()),
      job_(MakeResolvedJob(header().job, AskedKeys())),
      graph_(BuildModel(job_.model(), TaskOf(header().data))),
      params_(graph_.layout(), Cpu()) {
  checkpoint_->Load(params_);
  view_ = params_.View();
  if (ArithmeticOf(job_) == DType::kBf16) view_ = bf16_.Refresh(view_);
}

ModelFile::ModelFile(const OnnxPath& file)
    : header_{.job = JobOfFile(file.path),
              .data = DataOfFile(file.path),
              .executor = Table{},
              .strategy = Table{}},
      folder_(file.path),
      job_(MakeResolvedJob(header_.job, AskedKeys())),
      graph_(BuildModel(job_.model(), TaskOf(header_.data))),
      params_(graph_.layout(), Cpu()) {
  CopyFileWeights(job_.model(), graph_.task(), graph_.layout(), params_.values().Host().data());
  params_.Publish();
  view_ = params_.View();
}

std::unique_ptr<const ModelFile> OpenModel(const std::string& path) {
  if (path.ends_with(".onnx")) return std::make_unique<ModelFile>(OnnxPath{path});
  return std::make_unique<ModelFile>(path);
}

PlacedValues::PlacedValues(const ModelFile& model) : view_(model.params()) {
  if (IsRanked(model.graph())) return;
  try {
    devices_ = DevicesOf(model.job());
  } catch (const UserError&) {  // they are another machine's
    if (!AskedDevices().empty()) throw;
    return;
  }
  Device& device = ValuesDevice(model.job(), *devices_);
  if (device.IsHost()) return;
  values_ = Buffer(device, view_.values.Bytes());
  Copy(AllOf<float>(values_), view_.values);
  view_.values = AllOf<float>(values_);
  view_.bf16 = nullptr;
}

std::shared_ptr<const OutputSearch> ModelFile::TrainedTables() const {
  const std::optional<OutputProduct> output = graph_.Output();
  if (!output || !checkpoint_) return nullptr;
  const auto states = std::make_shared<LayerStates>(graph_.MakeStates());
  LayerState* const state = states->of(output->node);
  const auto* const search = dynamic_cast<const OutputSearch*>(state);
  if (!search || !checkpoint_->Load(graph_.StateTensors(*states))) return nullptr;
  state->Restored();
  if (!search->ready()) return nullptr;
  return {states, search};
}

EvaluateRequest EvaluationOf(const ModelFile& model, const PlacedValues& values, int threads) {
  return {.graph = model.graph(),
          .params = values.params(),
          .arithmetic = ArithmeticOf(model.job()),
          .reference_kernels = model.job().ReferenceKernels(),
          .threads = threads};
}

void RequirePossible(const Metrics& metrics, const ModelFile& model) {
  const double loss = MetricOf(metrics, "loss");
  Require(IsPossibleLoss(loss),
          "{}: the loss of these data is {:.4g}, which is impossible: the weights are ruined, or "
          "the data are not of the kind that they were trained on",
          model.folder(), loss);
}

std::string InputFormula(const DataInfo& data) {
  const Normalization& by = data.normalization;
  constexpr double kBytes = 255;
  std::string text = "value";
  if (by.scale == 1 / kBytes)
    text = "value/255";
  else if (by.scale != 1)
    text = fmt::format("value * {}", by.scale);
  if (!by.mean.empty()) text = fmt::format("({} - mean)", text);
  if (!by.deviation.empty()) text += "/deviation";
  return text;
}

std::string OnnxOf(const ModelFile& model, bool complete) {
  const DataInfo& data = model.header().data;
  const ModelTask task = TaskOf(data);
  const List layers = ModelLayers(model.job().model(), task);
  const Metadata metadata = MetadataOf(data, complete);
  const OnnxSurroundings surroundings = {.scale = data.normalization.scale,
                                         .mean = data.normalization.mean,
                                         .deviation = data.normalization.deviation,
                                         .target_mean = data.target_mean,
                                         .target_deviation = data.target_deviation};
  return WriteOnnx({.layers = layers,
                    .task = task,
                    .layout = model.graph().layout(),
                    .values = model.params().values.Host().data(),
                    .metadata = metadata,
                    .complete = complete ? &surroundings : nullptr});
}

}  // namespace yoke
