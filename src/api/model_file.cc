// ModelFile: reads weights and what is known of their data.
#include "api/model_file.h"

#include <filesystem>

#include "base/check.h"
#include "model/onnx/onnx.h"
#include "model/ranking.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

Value JobOfFile(const std::string& path) {
  return Table{{"data", Table{{"format", "memory"}}},
               {"model", Table{{"file", fs::absolute(path).string()}}}};
}

DataInfo DataOfFile(const std::string& path) {
  const OnnxModel model = ReadOnnx(path);
  return {.input = model.input,
          .multi_label = model.loss == "sigmoid_cross_entropy",
          .regression = model.loss.find("error") != std::string::npos,
          .outputs = model.outputs};
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
    : header_{.job = JobOfFile(file.path), .data = DataOfFile(file.path)},
      folder_(file.path),
      job_(MakeJob(header_.job, "job", /*folder=*/"")),
      graph_(BuildModel(job_.model(), TaskOf(header_.data))),
      params_(graph_.layout(), Cpu()) {
  CopyFileWeights(job_.model(), graph_.task(), graph_.layout(), params_.values().Host().data());
  params_.Publish();
  view_ = params_.View();
}

PlacedValues::PlacedValues(const ModelFile& model) : view_(model.params()) {
  if (IsRanked(model.graph())) return;
  try {
    devices_ = DevicesOf(model.job());
  } catch (const UserError&) {  // they are another machine's
    if (!AskedDevices().empty()) throw;
    return;
  }
  Device& device = ValuesDevice(model.job(), *devices_, model.graph().layout());
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

}  // namespace yoke
