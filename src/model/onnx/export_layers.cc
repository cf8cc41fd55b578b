// Writes layers as ONNX: products, activations, joins, normalization.
#include <cmath>

#include "model/onnx/exporter.h"

namespace yoke::onnx_file {
namespace {

/// A layer that is a single node without attributes.
void Plain(Exporter& to, const ListedLayer& layer, const char* type) {
  to.AddNode(layer, type, to.InputsOf(layer));
}

void Product(Exporter& to, const ListedLayer& layer) {
  std::vector<std::string> inputs = to.InputsOf(layer);
  if (to.InputShape(layer).rank() != 1) {
    Set(to.AddNode(layer, "Flatten", {inputs[0]}, "flatten"), "axis", int64_t{1});
    inputs[0] = to.PartOf(layer, "flatten");
  }
  onnx::NodeProto& node = to.AddNode(layer, "Gemm", inputs);
  Set(node, "alpha", 1.0);
  Set(node, "beta", 1.0);
  Set(node, "transB", int64_t{layer.type != "sparse_linear"});
}

/// Without weight and bias, writes ones and zeros.
void BatchNorm(Exporter& to, const ListedLayer& layer) {
  std::vector<std::string> inputs = to.InputsOf(layer);
  if (!layer.options.Bool("affine")) {
    const Shape channels{layer.output[0]};
    const auto count = static_cast<size_t>(channels[0]);
    inputs.insert(inputs.begin() + 1, {layer.name + ".weight", layer.name + ".bias"});
    to.AddTensor(inputs[1], channels, std::vector<float>(count, 1).data());
    to.AddTensor(inputs[2], channels, std::vector<float>(count, 0).data());
  }
  onnx::NodeProto& node = to.AddNode(layer, "BatchNormalization", inputs);
  Set(node, "epsilon", layer.options.Float("epsilon"));
  Set(node, "momentum", 1 - layer.options.Float("momentum"));
}

void LocalResponseNorm(Exporter& to, const ListedLayer& layer) {
  onnx::NodeProto& node = to.AddNode(layer, "LRN", to.InputsOf(layer));
  Set(node, "size", layer.options.Int("size"));
  Set(node, "alpha", layer.options.Float("alpha"));
  Set(node, "beta", layer.options.Float("beta"));
  Set(node, "bias", layer.options.Float("k"));
}

void Add(Exporter& to, const ListedLayer& layer) {
  to.AddNode(layer, layer.inputs.size() == 2 ? "Add" : "Sum", to.InputsOf(layer));
}

/// A gate that is a row is first reshaped to an image of one pixel.
void Multiply(Exporter& to, const ListedLayer& layer) {
  std::vector<std::string> inputs = to.InputsOf(layer);
  if (to.InputShape(layer, 1).rank() != to.InputShape(layer).rank()) {
    to.AddNode(layer, "Unsqueeze", {inputs[1], to.AddInts(layer, "axes", {2, 3})}, "gate");
    inputs[1] = to.PartOf(layer, "gate");
  }
  to.AddNode(layer, "Mul", inputs);
}

void Concat(Exporter& to, const ListedLayer& layer) {
  Set(to.AddNode(layer, "Concat", to.InputsOf(layer)), "axis", int64_t{1});
}

void Flatten(Exporter& to, const ListedLayer& layer) {
  Set(to.AddNode(layer, "Flatten", to.InputsOf(layer)), "axis", int64_t{1});
}

void LeakyRelu(Exporter& to, const ListedLayer& layer) {
  Set(to.AddNode(layer, "LeakyRelu", to.InputsOf(layer)), "alpha", layer.options.Float("slope"));
}

void HardSigmoid(Exporter& to, const ListedLayer& layer) {
  onnx::NodeProto& node = to.AddNode(layer, "HardSigmoid", to.InputsOf(layer));
  Set(node, "alpha", layer.options.Float("slope"));
  Set(node, "beta", layer.options.Float("offset"));
}

void Dropout(Exporter& to, const ListedLayer& layer) {
  std::vector<std::string> inputs = to.InputsOf(layer);
  inputs.push_back(to.AddNumber(layer, "ratio", layer.options.Float("probability")));
  to.AddNode(layer, "Dropout", inputs);
}

void Clip(Exporter& to, const ListedLayer& layer) {
  std::vector<std::string> inputs = to.InputsOf(layer);
  inputs.push_back(to.AddNumber(layer, "minimum", layer.options.Float("minimum")));
  inputs.push_back(to.AddNumber(layer, "maximum", layer.options.Float("maximum")));
  to.AddNode(layer, "Clip", inputs);
}

void Silu(Exporter& to, const ListedLayer& layer) {
  const std::string input = to.InputsOf(layer)[0];
  to.AddNode(layer, "Sigmoid", {input}, "sigmoid");
  to.AddNode(layer, "Mul", {input, to.PartOf(layer, "sigmoid")});
}

/// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) * 1/2
void TanhGelu(Exporter& to, const ListedLayer& layer) {
  const std::string input = to.InputsOf(layer)[0];
  const auto part = [&](const char* name) { return to.PartOf(layer, name); };
  to.AddNode(layer, "Pow", {input, to.AddNumber(layer, "three", 3)}, "cube");
  to.AddNode(layer, "Mul", {part("cube"), to.AddNumber(layer, "cubic", 0.044715)}, "scaled_cube");
  to.AddNode(layer, "Add", {input, part("scaled_cube")}, "inner");
  to.AddNode(layer, "Mul", {part("inner"), to.AddNumber(layer, "root", std::sqrt(2 / M_PI))},
             "scaled");
  to.AddNode(layer, "Tanh", {part("scaled")}, "tanh");
  to.AddNode(layer, "Add", {part("tanh"), to.AddNumber(layer, "one", 1)}, "sum");
  to.AddNode(layer, "Mul", {input, part("sum")}, "product");
  to.AddNode(layer, "Mul", {part("product"), to.AddNumber(layer, "half", 0.5)});
}

/// x * (1 + erf(x / sqrt(2))) / 2, as PyTorch writes it: opset 17 has no operator for it.
void Gelu(Exporter& to, const ListedLayer& layer) {
  if (layer.options.String("approximation") == "tanh") return TanhGelu(to, layer);
  const std::string input = to.InputsOf(layer)[0];
  const auto part = [&](const char* name) { return to.PartOf(layer, name); };
  to.AddNode(layer, "Div", {input, to.AddNumber(layer, "root", std::sqrt(2.0))}, "scaled");
  to.AddNode(layer, "Erf", {part("scaled")}, "erf");
  to.AddNode(layer, "Add", {part("erf"), to.AddNumber(layer, "one", 1)}, "sum");
  to.AddNode(layer, "Mul", {input, part("sum")}, "product");
  to.AddNode(layer, "Mul", {part("product"), to.AddNumber(layer, "half", 0.5)});
}

}  // namespace

void WriteLayerNorm(Exporter& to, const ListedLayer& layer);

Writers LayerWriters() {
  return {{"add", Add},
          {"batch_norm", BatchNorm},
          {"clip", Clip},
          {"concat", Concat},
          {"dropout", Dropout},
          {"flatten", Flatten},
          {"gelu", Gelu},
          {"hard_sigmoid", HardSigmoid},
          {"hard_swish", [](Exporter& e, const ListedLayer& l) { Plain(e, l, "HardSwish"); }},
          {"layer_norm", WriteLayerNorm},
          {"leaky_relu", LeakyRelu},
          {"linear", Product},
          {"local_response_norm", LocalResponseNorm},
          {"lsh_linear", Product},
          {"multiply", Multiply},
          {"relu", [](Exporter& e, const ListedLayer& l) { Plain(e, l, "Relu"); }},
          {"sigmoid", [](Exporter& e, const ListedLayer& l) { Plain(e, l, "Sigmoid"); }},
          {"silu", Silu},
          {"sparse_linear", Product},
          {"tanh", [](Exporter& e, const ListedLayer& l) { Plain(e, l, "Tanh"); }}};
}

}  // namespace yoke::onnx_file
