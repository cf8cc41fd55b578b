// ONNX import and export: reads a file as a list of layers with weights, and writes a trained model
// as a file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graph.h"

namespace yoke {

/// Initial values of one parameter.
struct OnnxWeight {
  std::string name;  ///< "layer.parameter"
  std::vector<float> values;
};

/// The contents of an ONNX file as a yoke model.
struct OnnxModel {
  Shape input;          ///< One example, without the batch axis.
  int64_t outputs = 0;  ///< Scores per example.
  /// The file ended in a softmax or its logarithm, which is omitted: the loss contains it.
  bool softmax_omitted = false;
  std::string loss = {};  ///< The layer that yoke noted when it wrote the file; "" in other files.
  bool hashed = false;    ///< Whether its last product was the hashed layer when yoke wrote it.
  List layers;            ///< As [[model.layer]]; the task adds the loss.
  std::vector<OnnxWeight> weights;
  std::map<std::string, std::string> metadata = {};  ///< By key.
};

/// What a job changes in the layers of a file.
struct OnnxStart {
  int64_t outputs = 0;  ///< Of the output layer, which is drawn anew; 0: as in the file.
  std::optional<Table> hashed = {};  ///< Options of lsh_linear, which becomes the output layer.
};

/// Reads a file (opset 6 or later; one input, one output, batch axis first) and its external data
/// files. Throws UserError with file, node and what was expected.
OnnxModel ReadOnnx(const std::string& path);
/// The file's metadata, by key, without the graph. Throws UserError if it cannot be read.
std::map<std::string, std::string> ReadOnnxMetadata(const std::string& path);
/// The same for the data of a task: with sparse data the first linear layer becomes sparse, and
/// with label sets a final sigmoid becomes part of the loss. The loss is the one that yoke noted in
/// the file, and for label sets the softmax that a file ends in. Throws UserError if examples have
/// another shape.
OnnxModel ReadOnnxFor(const std::string& path, const ModelTask& task, const OnnxStart& start = {});
/// The same from the bytes of a file; `name` is the file's name in messages, and external data
/// files are in `folder`.
OnnxModel ParseOnnx(std::string_view bytes, const std::string& name, const std::string& folder);

/// Copies the file's weights to `values`, which has this `layout`. Throws UserError if the weights
/// do not match the layout.
void CopyWeights(const OnnxModel& model, const std::string& name, const ParamLayout& layout,
                 float* values);

/// What surrounds a network: input = (value * scale - mean) / deviation by channel, and a
/// regression's prediction = score * target_deviation + target_mean. Empty: 0 and 1.
struct OnnxSurroundings {
  double scale = 1;
  std::vector<double> mean = {}, deviation = {};
  std::vector<double> target_mean = {}, target_deviation = {};
};

/// The input of an ONNX export.
struct OnnxExport {
  const List& layers;  ///< As [[model.layer]]; `layout` and `values` belong to them.
  const ModelTask& task;
  const ParamLayout& layout;
  const float* values = nullptr;
  /// Additional metadata: "input", "classes", ...
  std::vector<std::pair<std::string, std::string>> metadata = {};
  /// Computed in the graph, too: it then takes values and gives probabilities or predictions.
  const OnnxSurroundings* complete = nullptr;
};

/// Returns the bytes of an ONNX file (opset 17) that computes the model's scores: input `input` [N,
/// ...], output `scores` [N, outputs]. Losses and layers that only losses need are omitted; sparse
/// input becomes dense. Throws UserError for models of more than 2 GB.
std::string WriteOnnx(const OnnxExport& model);

}  // namespace yoke
