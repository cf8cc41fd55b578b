// Layer normalization, which PyTorch writes between two transpositions for images.
#include <utility>

#include "model/onnx/exporter.h"
#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

const std::vector<int64_t> kToLast = {0, 2, 3, 1};  // batch, height, width, channels
const std::vector<int64_t> kFromLast = {0, 3, 1, 2};

NewLayer LayerOf(const Importer& importer, const Node& node, const Datum& input, bool channels) {
  const Shape shape = importer.ShapeOf(input);
  NewLayer layer{.type = "layer_norm",
                 .options = {{"epsilon", node.Float("epsilon", 1e-5)}},
                 .inputs = {input},
                 .named_after = node.input(1)};
  if (channels) layer.options.emplace_back("over", "channels");
  const auto count = static_cast<size_t>(channels ? shape[0] : shape.Count());
  layer.weights.emplace_back("weight", importer.Values(node, 1).floats);
  layer.weights.emplace_back(
      "bias", node.input(2).empty() ? std::vector<float>(count) : importer.Values(node, 2).floats);
  return layer;
}

void LayerNormalization(Importer& importer, const Node& node) {
  const Datum input = importer.Of(node, node.input(0));
  node.Need(!input.layer.empty(), "its input '{}' is constant", node.input(0));
  const auto rank = static_cast<int64_t>(input.dims.size());
  const int64_t axis = node.Int("axis", -1), first = axis < 0 ? axis + rank : axis;
  node.Need(first == 1,
            "it normalizes from axis {} on; expected all axes of an example (axis 1), or the "
            "channels of an image between two Transposes",
            axis);
  NewLayer layer = LayerOf(importer, node, input, false);
  layer.dims = input.dims;  // all values of an example, whatever its axes
  importer.AddLayer(node, std::move(layer));
}

}  // namespace

bool NormalizeChannels(Importer& importer, const Node& transpose) {
  const std::optional<Node> norm = importer.OnlyReader(transpose.output());
  if (transpose.Ints("perm") != kToLast || !norm || norm->type() != "LayerNormalization")
    return false;
  const std::optional<Node> back = importer.OnlyReader(norm->output());
  const int64_t axis = norm->Int("axis", -1);
  if (!back || back->type() != "Transpose" || back->Ints("perm") != kFromLast ||
      (axis != -1 && axis != 3))
    return false;
  const Datum image = importer.Image(transpose, 0);
  importer.AddLayer(*back, LayerOf(importer, *norm, image, true));
  importer.Give(transpose.output(), image);  // no other node reads these
  importer.Give(norm->output(), image);
  return true;
}

Operators LayerNormOperators() { return {{"LayerNormalization", LayerNormalization}}; }

void WriteLayerNorm(Exporter& to, const ListedLayer& layer) {
  std::vector<std::string> inputs = to.InputsOf(layer);
  const Shape shape = to.InputShape(layer);
  const bool channels = layer.options.String("over") == "channels" && shape.rank() == 3;
  if (!layer.options.Bool("affine")) {
    const Shape together = channels ? Shape{shape[0]} : shape;
    inputs.push_back(layer.name + ".weight");
    const std::vector<float> ones(static_cast<size_t>(together.Count()), 1);
    to.AddTensor(inputs.back(), together, ones.data());
  }
  if (channels) {
    Set(to.AddNode(layer, "Transpose", {inputs[0]}, "last"), "perm", kToLast);
    inputs[0] = to.PartOf(layer, "last");
  }
  onnx::NodeProto& node = to.AddNode(layer, "LayerNormalization", inputs, channels ? "norm" : "");
  Set(node, "epsilon", layer.options.Float("epsilon"));
  Set(node, "axis", int64_t{channels ? -1 : 1});
  if (channels) Set(to.AddNode(layer, "Transpose", {to.PartOf(layer, "norm")}), "perm", kFromLast);
}

}  // namespace yoke::onnx_file
