// Groups of nodes that PyTorch writes for one layer.
#include <cmath>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

/// The node of this type that produces an input, if any.
std::optional<Node> Below(const Importer& importer, const Node& node, int input, const char* type) {
  std::optional<Node> giver = importer.GiverOf(node.input(input));
  return giver && giver->type() == type ? giver : std::nullopt;
}

/// The node below one that only changes dimensions: Reshape, Squeeze, or an If whose branch
/// squeezes.
std::optional<Node> BelowView(const Importer& importer, const Node& node) {
  if (node.type() != "If") return importer.GiverOf(node.input(0));
  const auto* branch = node.Find("else_branch");
  if (!branch || branch->g().node_size() == 0 || branch->g().node(0).input_size() == 0) return {};
  return importer.GiverOf(branch->g().node(0).input(0));
}

std::optional<Node> SkipViews(const Importer& importer, std::optional<Node> node) {
  constexpr int kMost = 8;
  for (int i = 0; node && i < kMost; ++i) {
    const std::string& type = node->type();
    if (type != "Reshape" && type != "Squeeze" && type != "Unsqueeze" && type != "If") return node;
    node = BelowView(importer, *node);
  }
  return {};
}

/// torch.nn.functional.local_response_norm: x / (k + alpha * mean of x^2 over neighbours)^beta,
/// with the mean as a pool over channels of the padded squares.
std::optional<Pattern> LocalResponseNorm(const Importer& importer, const Node& divide) {
  const std::optional<Node> power = Below(importer, divide, 1, "Pow");
  const std::optional<Node> sum = power ? Below(importer, *power, 0, "Add") : std::nullopt;
  const std::optional<Node> scaled = sum ? Below(importer, *sum, 0, "Mul") : std::nullopt;
  if (!scaled) return {};
  const std::optional<Node> mean = SkipViews(importer, importer.GiverOf(scaled->input(0)));
  if (!mean || mean->type() != "AveragePool") return {};
  std::optional<Node> padded = SkipViews(importer, importer.GiverOf(mean->input(0)));
  if (!padded || padded->type() != "Pad") return {};
  const std::optional<Node> square = SkipViews(importer, importer.GiverOf(padded->input(0)));
  if (!square || square->type() != "Mul") return {};
  const std::string& input = divide.input(0);
  const std::vector<int64_t> kernel = mean->Ints("kernel_shape");
  const std::optional<double> alpha = importer.Number(scaled->input(1)),
                              k = importer.Number(sum->input(1)),
                              beta = importer.Number(power->input(1));
  if (square->input(0) != input || square->input(1) != input || kernel.empty() || !alpha || !k ||
      !beta)
    return {};
  return Pattern{"local_response_norm",
                 {{"size", kernel[0]}, {"alpha", *alpha}, {"beta", *beta}, {"k", *k}},
                 input};
}

/// x * sigmoid(x)
std::optional<Pattern> Silu(const Importer& importer, const Node& product) {
  for (const int gate : {0, 1})
    if (const auto sigmoid = Below(importer, product, gate, "Sigmoid"))
      if (sigmoid->input(0) == product.input(1 - gate))
        return Pattern{"silu", {}, sigmoid->input(0)};
  return {};
}

/// x * hard_sigmoid(x) with the slope 1/6 and the offset 1/2.
std::optional<Pattern> HardSwish(const Importer& importer, const Node& product) {
  constexpr double kSlope = 1.0 / 6, kNear = 1e-4;
  for (const int gate : {0, 1}) {
    const auto sigmoid = Below(importer, product, gate, "HardSigmoid");
    if (!sigmoid || sigmoid->input(0) != product.input(1 - gate)) continue;
    const double slope = sigmoid->Float("alpha", 0.2), offset = sigmoid->Float("beta", 0.5);
    if (std::abs(slope - kSlope) < kNear && std::abs(offset - 0.5) < kNear)
      return Pattern{"hard_swish", {}, sigmoid->input(0)};
  }
  return {};
}

}  // namespace

std::optional<Pattern> FindPattern(const Importer& importer, const Node& node) {
  if (node.type() == "Div") return LocalResponseNorm(importer, node);
  if (node.type() != "Mul") return {};
  for (const auto& match : {Silu, HardSwish, FindGelu})
    if (std::optional<Pattern> found = match(importer, node)) return found;
  return {};
}

}  // namespace yoke::onnx_file
