// Operators that become layers: normalization and activations.
#include <cmath>
#include <limits>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

void BatchNormalization(Importer& importer, const Node& node) {
  const Datum& input = importer.Of(node, node.input(0));
  node.Need(node.Int("spatial", 1) != 0, "it normalizes each pixel (spatial = 0)");
  // ONNX gives the weight of the old statistics, yoke (like PyTorch) that of the new ones.
  constexpr double kDigits = 1e7;
  const double momentum = std::round((1 - node.Float("momentum", 0.9)) * kDigits) / kDigits;
  NewLayer layer{.type = "batch_norm",
                 .options = {{"epsilon", node.Float("epsilon", 1e-5)}, {"momentum", momentum}},
                 .inputs = {input},
                 .named_after = node.input(1)};
  int i = 1;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    layer.weights.emplace_back(name, importer.Values(node, i++).floats);
  importer.AddLayer(node, std::move(layer));
}

void LocalResponseNorm(Importer& importer, const Node& node) {
  importer.AddLayer(node, {.type = "local_response_norm",
                           .options = {{"size", node.Int("size", 1)},
                                       {"alpha", node.Float("alpha", 1e-4)},
                                       {"beta", node.Float("beta", 0.75)},
                                       {"k", node.Float("bias", 1)}},
                           .inputs = {importer.Image(node, 0)}});
}

void Activation(Importer& importer, const Node& node, const char* type, Table options = {}) {
  const Datum& input = importer.Of(node, node.input(0));
  importer.AddLayer(
      node, {.type = type, .options = std::move(options), .inputs = {input}, .dims = input.dims});
}

void Clip(Importer& importer, const Node& node) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const double low = importer.Number(node, 1, "min", -kMost),
               high = importer.Number(node, 2, "max", kMost);
  if (low == 0 && high >= kMost) return Activation(importer, node, "relu");
  Activation(importer, node, "clip", {{"minimum", low}, {"maximum", high}});
}

void Gelu(Importer& importer, const Node& node) {
  const std::string approximation = node.Text("approximate", "none");
  node.Need(approximation == "none" || approximation == "tanh",
            "its approximation '{}' is unknown; expected none or tanh", approximation);
  Table options;
  if (approximation == "tanh") options.emplace_back("approximation", approximation);
  Activation(importer, node, "gelu", std::move(options));
}

void HardSigmoid(Importer& importer, const Node& node) {
  Activation(importer, node, "hard_sigmoid",
             {{"slope", node.Float("alpha", 0.2)}, {"offset", node.Float("beta", 0.5)}});
}

void Dropout(Importer& importer, const Node& node) {
  const double ratio = importer.Number(node, 1, "ratio", 0.5);
  node.Need(ratio >= 0 && ratio < 1, "its ratio is {}; expected a number in [0, 1)", ratio);
  Activation(importer, node, "dropout", {{"probability", ratio}});
}

}  // namespace

Operators JoinOperators();
Operators LayerNormOperators();
Operators PieceOperators();
Operators ProductOperators();
Operators WindowOperators();

Operators LayerOperators() {
  Operators all = {
      {"BatchNormalization", BatchNormalization},
      {"Clip", Clip},
      {"Dropout", Dropout},
      {"Gelu", Gelu},
      {"HardSigmoid", HardSigmoid},
      {"HardSwish", [](Importer& i, const Node& n) { Activation(i, n, "hard_swish"); }},
      {"LeakyRelu",
       [](Importer& i, const Node& n) {
         Activation(i, n, "leaky_relu", {{"slope", n.Float("alpha", 0.01)}});
       }},
      {"LRN", LocalResponseNorm},
      {"Relu", [](Importer& i, const Node& n) { Activation(i, n, "relu"); }},
      {"Sigmoid", [](Importer& i, const Node& n) { Activation(i, n, "sigmoid"); }},
      {"Tanh", [](Importer& i, const Node& n) { Activation(i, n, "tanh"); }},
  };
  for (Operators more : {JoinOperators(), LayerNormOperators(), PieceOperators(),
                         ProductOperators(), WindowOperators()})
    all.merge(more);
  return all;
}

}  // namespace yoke::onnx_file
