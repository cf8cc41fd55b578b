// Groups of nodes that PyTorch writes for one layer.
#include <algorithm>
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

/// Whether a pool averages over the first of three axes with stride 1, padding not being its own.
bool IsPlainPool(const Node& pool) {
  const std::vector<int64_t> kernel = pool.Ints("kernel_shape"), strides = pool.Ints("strides");
  const auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::ranges::all_of(values, [&](int64_t number) { return number == value; });
  };
  return kernel.size() == 3 && kernel[0] >= 1 && kernel[1] == 1 && kernel[2] == 1 &&
         all(strides, 1) && all(pool.Ints("pads"), 0) && all(pool.Ints("dilations"), 1) &&
         pool.Text("auto_pad", "NOTSET") == "NOTSET";
}

/// torch.nn.functional.local_response_norm: x / (k + alpha * mean of x^2 over neighbours)^beta,
/// with the mean as a pool over channels of the padded squares.
std::optional<Pattern> LocalResponseNorm(const Importer& importer, const Node& divide) {
  const std::optional<Node> power = Below(importer, divide, 1, "Pow");
  const std::optional<Node> sum = power ? Below(importer, *power, 0, "Add") : std::nullopt;
  const std::optional<Node> scaled = sum ? Below(importer, *sum, 0, "Mul") : std::nullopt;
  if (!scaled) return {};
  const std::optional<Node> restore = importer.GiverOf(scaled->input(0));
  const std::optional<Node> mean = SkipViews(importer, restore);
  if (!mean || mean->type() != "AveragePool") return {};
  std::optional<Node> padded = SkipViews(importer, importer.GiverOf(mean->input(0)));
  if (!padded || padded->type() != "Pad") return {};
  const std::optional<Node> view = Below(importer, *padded, 0, "Reshape");
  const std::optional<Node> square = view ? importer.GiverOf(view->input(0)) : std::nullopt;
  if (!square || square->type() != "Mul") return {};
  const std::string& input = divide.input(0);
  const std::vector<int64_t> kernel = mean->Ints("kernel_shape");
  const std::optional<double> alpha = importer.Number(scaled->input(1)),
                              k = importer.Number(sum->input(1)),
                              beta = importer.Number(power->input(1));
  if (square->input(0) != input || square->input(1) != input || !alpha || !k || !beta ||
      !IsPlainPool(*mean))
    return {};
  PoolAxes axes = {.size = kernel[0], .view = view->input(1), .pads = padded->input(1)};
  (restore->type() == "Reshape" ? axes.restore : axes.squeeze) = restore->input(1);
  return Pattern{"local_response_norm",
                 {{"size", kernel[0]}, {"alpha", *alpha}, {"beta", *beta}, {"k", *k}},
                 input,
                 axes};
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

Constant ConstantOf(const Importer& importer, const Node& node, const std::string& name) {
  const Datum& datum = importer.Of(node, name);
  node.Need(datum.layer.empty(), "'{}' must be constant", name);
  return datum.constant ? *datum.constant : node.file().Read(*datum.tensor);
}

/// Whether the target of a Reshape asks for these dimensions.
bool IsShape(const std::vector<int64_t>& target, const std::vector<int64_t>& dims) {
  const auto fits = [](int64_t wanted, int64_t length) {
    return wanted == length || wanted == kInferred;
  };
  return target.size() == dims.size() &&
         std::equal(target.begin() + 1, target.end(), dims.begin() + 1, fits);
}

}  // namespace

void CheckPoolAxes(const Importer& importer, const Node& node, const Pattern& pattern) {
  const auto& [size, view, pads, restore, squeeze] = *pattern.axes;
  const std::vector<int64_t>& dims = importer.Of(node, pattern.input).dims;
  const std::vector<int64_t> border = {0, 0, size / 2, 0, 0, 0, 0, (size - 1) / 2, 0, 0};
  std::vector<int64_t> apart = dims;
  apart.insert(apart.begin() + 1, 1);
  const bool restored = restore.empty()
                            ? ConstantOf(importer, node, squeeze).ints == std::vector<int64_t>{1}
                            : IsShape(ConstantOf(importer, node, restore).ints, dims);
  node.Need(dims.size() == 4 && IsShape(ConstantOf(importer, node, view).ints, apart) &&
                ConstantOf(importer, node, pads).ints == border && restored,
            "it divides by means of squares that are not those of {} neighbouring channels", size);
}

std::optional<Pattern> FindPattern(const Importer& importer, const Node& node) {
  if (node.type() == "Div") return LocalResponseNorm(importer, node);
  if (node.type() != "Mul") return {};
  for (const auto& match : {Silu, HardSwish, FindGelu})
    if (std::optional<Pattern> found = match(importer, node)) return found;
  return {};
}

}  // namespace yoke::onnx_file
