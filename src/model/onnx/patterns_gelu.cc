// The GELU as exporters write it, with factors and terms in any order:
// 1/2 x (1 + erf(x / sqrt 2)), and 1/2 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

bool Near(double number, double expected) { return std::abs(number - expected) < 1e-4; }

/// A product: the product of its constants, and the names of its other factors.
struct ScaledProduct {
  double constant = 1;
  std::vector<std::string> factors = {};
};

/// `name` as a product; the factor `whole` is not split.
ScaledProduct ProductOf(const Importer& importer, const std::string& name,
                        const std::string& whole) {
  constexpr int kMost = 16;  // a damaged file may have cycles
  ScaledProduct product;
  std::vector<std::string> open = {name};
  for (int i = 0; i < kMost && !open.empty(); ++i) {
    const std::string next = open.back();
    open.pop_back();
    const std::optional<Node> giver = importer.GiverOf(next);
    if (const std::optional<double> number = importer.Number(next))
      product.constant *= *number;
    else if (next != whole && giver && giver->type() == "Mul")
      open.insert(open.end(), {giver->input(0), giver->input(1)});
    else
      product.factors.push_back(next);
  }
  product.factors.insert(product.factors.end(), open.begin(), open.end());
  return product;
}

/// The other term of a sum of `one` and something; "" if it is not such a sum.
std::string Added(const Importer& importer, const std::string& name, double one) {
  const std::optional<Node> sum = importer.GiverOf(name);
  if (!sum || sum->type() != "Add") return "";
  for (const int i : {0, 1})
    if (importer.Number(sum->input(i)) == one) return sum->input(1 - i);
  return "";
}

/// The factor of x, if `product` is 1/2 x (1 + factor).
std::optional<Node> ShareOf(const Importer& importer, const ScaledProduct& product,
                            const std::string& x) {
  if (!Near(product.constant, 0.5) || product.factors.size() != 2) return {};
  for (const int i : {0, 1})
    if (product.factors[static_cast<size_t>(i)] == x)
      return importer.GiverOf(Added(importer, product.factors[static_cast<size_t>(1 - i)], 1));
  return {};
}

/// Whether `name` is x / sqrt 2.
bool IsErfArgument(const Importer& importer, const std::string& name, const std::string& x) {
  const std::optional<Node> node = importer.GiverOf(name);
  if (node && node->type() == "Div" && node->input(0) == x)
    return Near(importer.Number(node->input(1)).value_or(0), std::numbers::sqrt2);
  const ScaledProduct product = ProductOf(importer, name, x);
  return Near(product.constant, 1 / std::numbers::sqrt2) &&
         product.factors == std::vector<std::string>{x};
}

/// Whether `name` is 0.044715 x^3.
bool IsCubic(const Importer& importer, const std::string& name, const std::string& x) {
  const ScaledProduct product = ProductOf(importer, name, x);
  if (!Near(product.constant, 0.044715)) return false;
  if (product.factors == std::vector<std::string>(3, x)) return true;
  if (product.factors.size() != 1) return false;
  const std::optional<Node> power = importer.GiverOf(product.factors[0]);
  return power && power->type() == "Pow" && power->input(0) == x &&
         importer.Number(power->input(1)) == 3.0;
}

/// Whether `name` is sqrt(2 / pi) (x + 0.044715 x^3).
bool IsTanhArgument(const Importer& importer, const std::string& name, const std::string& x) {
  const ScaledProduct product = ProductOf(importer, name, x);
  if (!Near(product.constant, std::sqrt(2 / std::numbers::pi)) || product.factors.size() != 1)
    return false;
  const std::optional<Node> sum = importer.GiverOf(product.factors[0]);
  if (!sum || sum->type() != "Add") return false;
  for (const int i : {0, 1})
    if (sum->input(i) == x) return IsCubic(importer, sum->input(1 - i), x);
  return false;
}

/// The names that may be x: all factors in the product.
std::vector<std::string> Candidates(const Importer& importer, const Node& product) {
  std::vector<std::string> names;
  for (const int i : {0, 1}) {
    names.push_back(product.input(i));
    const std::optional<Node> giver = importer.GiverOf(product.input(i));
    if (giver && giver->type() == "Mul")
      names.insert(names.end(), {giver->input(0), giver->input(1)});
  }
  return names;
}

}  // namespace

std::optional<Pattern> FindGelu(const Importer& importer, const Node& product) {
  for (const std::string& x : Candidates(importer, product)) {
    const std::optional<Node> share =
        ShareOf(importer, ProductOf(importer, product.output(), x), x);
    if (share && share->type() == "Erf" && IsErfArgument(importer, share->input(0), x))
      return Pattern{"gelu", {}, x};
    if (share && share->type() == "Tanh" && IsTanhArgument(importer, share->input(0), x))
      return Pattern{"gelu", {{"approximation", "tanh"}}, x};
  }
  return {};
}

}  // namespace yoke::onnx_file
