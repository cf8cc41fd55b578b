// ONNX in and out: a file as a list of layers with their weights, and a trained model as a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graph.h"

namespace yoke {

/// First numbers of one parameter.
struct OnnxWeight {
  std::string name;  ///< "layer.parameter"
  std::vector<float> numbers;
};

/// What an ONNX file holds, as yoke sees it.
struct OnnxModel {
  Shape input;          ///< One example, without the batch axis.
  int64_t outputs = 0;  ///< Scores of one example.
  List layers;          ///< As [[model.layer]]; the loss is left to the task.
  std::vector<OnnxWeight> weights;
};

/// Reads a file (opset 13 or later; one input, one output, batch axis first) and the files that it
/// names for its numbers. Throws UserError naming file, node and what was expected.
OnnxModel ReadOnnx(const std::string& path);
/// The same for the data of a task: a first product takes its sparse rows, and a sigmoid at the end
/// is left to the loss of label sets. Throws UserError where examples are of another shape.
OnnxModel ReadOnnxFor(const std::string& path, const ModelTask& task);
/// The file's bytes in place of the file; `name` stands for the file in messages, files of numbers
/// lie in `folder`.
OnnxModel ParseOnnx(std::string_view bytes, const std::string& name, const std::string& folder);

/// Copies the file's weights to `values`, which `layout` describes. Throws UserError where they are
/// not the parameters of this layout.
void CopyWeights(const OnnxModel& model, const std::string& name, const ParamLayout& layout,
                 float* values);

/// What an ONNX file is written from.
struct OnnxExport {
  const List& layers;  ///< As [[model.layer]]: those that `layout` and `values` belong to.
  const ModelTask& task;
  const ParamLayout& layout;
  const float* values = nullptr;
  /// Further facts for people and programs: "input", "classes", ...
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

/// The bytes of an ONNX file (opset 17) that computes the model's scores: input `input` [N, ...],
/// output `scores` [N, outputs]. Losses and what only they need are left out; sparse rows come in
/// as dense ones. Throws UserError for models of more than 2 GB.
std::string WriteOnnx(const OnnxExport& model);

}  // namespace yoke
