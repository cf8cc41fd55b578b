// Operators that join layers: sums, products, concatenation.
#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

/// The inputs, whose dimensions must be equal but for those along `free`, which are added.
NewLayer Joined(Importer& importer, const Node& node, const char* type, size_t free = 0) {
  NewLayer layer{.type = type};
  for (int i = 0; i < node.inputs(); ++i) {
    const Datum& input = importer.Of(node, node.input(i));
    node.Need(!input.layer.empty(), "it joins a layer with a constant; expected two layers");
    std::vector<int64_t> dims = input.dims;
    if (i == 0) layer.dims = dims;
    if (i > 0 && free > 0 && free < dims.size() && dims.size() == layer.dims.size())
      dims[free] = layer.dims[free] += dims[free];
    node.Need(dims == layer.dims, "it joins inputs of different shapes ({} and {} for an example)",
              TextOf(layer.inputs.empty() ? dims : layer.inputs[0].dims), TextOf(input.dims));
    layer.inputs.push_back(input);
  }
  return layer;
}

void Join(Importer& importer, const Node& node, NewLayer layer) {
  node.Need(!layer.inputs.empty(), "it has no input");
  if (layer.inputs.size() == 1) return importer.Give(node.output(), layer.inputs[0]);
  importer.AddLayer(node, std::move(layer));
}

bool AllConstant(Importer& importer, const Node& node) {
  bool all = node.inputs() > 0;
  for (int i = 0; i < node.inputs(); ++i) all = all && importer.IsConstant(node.input(i));
  return all;
}

void Add(Importer& importer, const Node& node) {
  if (AllConstant(importer, node)) return ComputeConstant(importer, node);
  Join(importer, node, Joined(importer, node, "add"));
}

/// Whether `gate` has one element per channel of an image.
bool IsGate(const Importer& importer, const Datum& image, const Datum& gate) {
  return image.dims.size() == 4 && !importer.IsView(image) &&
         gate.dims == std::vector<int64_t>{kBatch, image.dims[1], 1, 1};
}

void Mul(Importer& importer, const Node& node) {
  if (AllConstant(importer, node)) return ComputeConstant(importer, node);
  Datum image = importer.Of(node, node.input(0)), gate = importer.Of(node, node.input(1));
  node.Need(!image.layer.empty() && !gate.layer.empty(),
            "it multiplies a layer by a constant; expected two layers");
  if (IsGate(importer, gate, image)) std::swap(image, gate);
  node.Need(image.dims == gate.dims || IsGate(importer, image, gate),
            "it multiplies inputs of different shapes ({} and {} for an example); expected equal "
            "ones, or an image and a number for each of its channels",
            TextOf(image.dims), TextOf(gate.dims));
  importer.AddLayer(node, {.type = "multiply", .inputs = {image, gate}, .dims = image.dims});
}

void Concat(Importer& importer, const Node& node) {
  if (importer.IsConstant(node.input(0))) return ComputeConstant(importer, node);
  node.Need(node.inputs() > 0, "it has no input");
  const auto rank = static_cast<int64_t>(importer.Of(node, node.input(0)).dims.size());
  const int64_t axis = node.Int("axis", 1);
  node.Need(axis == 1 || axis == 1 - rank, "it joins along axis {}; expected 1, the channels",
            axis);
  Join(importer, node, Joined(importer, node, "concat", 1));
}

}  // namespace

Operators JoinOperators() { return {{"Add", Add}, {"Concat", Concat}, {"Mul", Mul}, {"Sum", Add}}; }

}  // namespace yoke::onnx_file
