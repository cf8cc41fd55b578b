// Operators that join layers: sums, products, concatenation.
#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

void Join(Importer& importer, const Node& node, const char* type) {
  NewLayer layer{.type = type};
  for (int i = 0; i < node.inputs(); ++i) layer.inputs.push_back(importer.Of(node, node.input(i)));
  if (layer.inputs.size() == 1) return importer.Give(node.output(), layer.inputs[0]);
  for (const Datum& input : layer.inputs)
    node.Need(!input.layer.empty(), "it joins a layer with a constant; expected two layers");
  importer.AddLayer(node, std::move(layer));
}

bool AllConstant(Importer& importer, const Node& node) {
  bool all = node.inputs() > 0;
  for (int i = 0; i < node.inputs(); ++i) all = all && importer.IsConstant(node.input(i));
  return all;
}

void Add(Importer& importer, const Node& node) {
  if (AllConstant(importer, node)) return ComputeConstant(importer, node);
  Join(importer, node, "add");
}

/// Whether `gate` has one element per channel of an image.
bool IsGate(const Datum& image, const Datum& gate) {
  return image.dims.size() == 4 && gate.dims == std::vector<int64_t>{kBatch, image.dims[1], 1, 1};
}

void Mul(Importer& importer, const Node& node) {
  if (AllConstant(importer, node)) return ComputeConstant(importer, node);
  Datum image = importer.Of(node, node.input(0)), gate = importer.Of(node, node.input(1));
  node.Need(!image.layer.empty() && !gate.layer.empty(),
            "it multiplies a layer by a constant; expected two layers");
  if (IsGate(gate, image)) std::swap(image, gate);
  node.Need(image.dims == gate.dims || IsGate(image, gate),
            "it multiplies inputs of different shapes; expected equal ones, or an image and a "
            "number for each of its channels");
  importer.AddLayer(node, {.type = "multiply", .inputs = {image, gate}});
}

void Concat(Importer& importer, const Node& node) {
  if (importer.IsConstant(node.input(0))) return ComputeConstant(importer, node);
  const auto rank = static_cast<int64_t>(importer.Of(node, node.input(0)).dims.size());
  const int64_t axis = node.Int("axis", 1);
  node.Need(axis == 1 || axis == 1 - rank, "it joins along axis {}; expected 1, the channels",
            axis);
  Join(importer, node, "concat");
}

}  // namespace

Operators JoinOperators() { return {{"Add", Add}, {"Concat", Concat}, {"Mul", Mul}, {"Sum", Add}}; }

}  // namespace yoke::onnx_file
