// A model as an ONNX file: the network, and what a reader must know of its data.
#include "api/onnx_file.h"

#include <fmt/ranges.h>

#include "base/json.h"
#include "model/onnx/onnx.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

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
