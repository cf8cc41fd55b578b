// Operators on constants, computed while a file is read: PyTorch writes shapes as small programs.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <type_traits>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

/// An axis as an index from 0.
int64_t AxisIn(const Node& node, int64_t axis, int64_t rank) {
  node.Need(axis >= -rank && axis < rank, "there is no axis {} among {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

/// Applies `change` to a constant's ints or floats.
template <typename Change>
void Either(Constant& constant, const Change& change) {
  if (constant.integer)
    change(constant.ints);
  else
    change(constant.floats);
}

void ConstantValue(Importer& importer, const Node& node) {
  if (const auto* tensor = node.Find("value")) {
    Datum datum;
    datum.tensor = &tensor->t();
    return importer.Give(node.output(), std::move(datum));
  }
  Constant constant;
  constant.integer = node.Find("value_int") || node.Find("value_ints");
  if (const auto* values = node.Find("value_floats"))
    constant.floats = {values->floats().begin(), values->floats().end()};
  else if (node.Find("value_float"))
    constant.floats = {static_cast<float>(node.Float("value_float", 0))};
  else if (node.Find("value_int"))
    constant.ints = {node.Int("value_int", 0)};
  else
    constant.ints = node.Ints("value_ints");
  node.Need(constant.Count() > 0, "it holds no tensor of numbers");
  if (!node.Find("value_int") && !node.Find("value_float")) constant.dims = {constant.Count()};
  importer.GiveConstant(node, std::move(constant));
}

void ShapeOfInput(Importer& importer, const Node& node) {
  const Datum& datum = importer.Of(node, node.input(0));
  const std::vector<int64_t> dims = datum.tensor ? importer.Values(node, 0).dims : datum.dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamped(node.Int("start", 0)), end = clamped(node.Int("end", rank));
  Constant shape{.dims = {std::max<int64_t>(0, end - start)}, .integer = true};
  for (int64_t i = start; i < end; ++i) shape.ints.push_back(dims[static_cast<size_t>(i)]);
  importer.GiveConstant(node, std::move(shape));
}

/// The result of an operation on two values; nothing for a division of integers by 0. What is
/// computed from the length of the batch axis stays unknown.
template <typename Number>
std::optional<Number> Compute(const std::string& type, Number a, Number b) {
  if constexpr (std::is_integral_v<Number>)
    if (IsFromBatch(a) || IsFromBatch(b)) return kFromBatch;
  if (type == "Add" || type == "Sum") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  if (std::is_integral_v<Number> && b == 0) return {};
  return a / b;
}

/// The dimensions of a and b joined: the shorter list gets ones in front, and ones are stretched.
std::vector<int64_t> Broadcast(const Node& node, std::vector<int64_t> a, std::vector<int64_t> b) {
  constexpr int64_t kMost = 1 << 24;
  if (a.size() < b.size()) a.swap(b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  int64_t count = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    node.Need(a[i] > 0 && b[i] > 0 && (a[i] == b[i] || a[i] == 1 || b[i] == 1),
              "axes of its constants have the lengths {} and {}", a[i], b[i]);
    a[i] = std::max(a[i], b[i]);
    node.Need(a[i] <= kMost && (count *= a[i]) <= kMost, "it makes too many numbers");
  }
  return a;
}

/// The place in a tensor of `from` that belongs to the place in the broadcast tensor.
size_t PlaceIn(const std::vector<int64_t>& from, const std::vector<int64_t>& to, size_t place) {
  size_t result = 0, stride = 1;
  for (size_t i = from.size(), axis = to.size(); i-- > 0;) {
    const auto length = static_cast<size_t>(to[--axis]);
    if (from[i] > 1) result += place % length * stride;
    stride *= static_cast<size_t>(from[i]);
    place /= length;
  }
  return result;
}

/// a and b elementwise.
template <typename Number>
void ComputeEach(const Node& node, const Constant& a, const Constant& b,
                 std::vector<Number> Constant::*values, Constant& result) {
  const int64_t count =
      std::accumulate(result.dims.begin(), result.dims.end(), int64_t{1}, std::multiplies());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const std::optional<Number> one =
        Compute<Number>(node.type(), (a.*values)[PlaceIn(a.dims, result.dims, i)],
                        (b.*values)[PlaceIn(b.dims, result.dims, i)]);
    node.Need(one.has_value(), "it divides by zero");
    (result.*values).push_back(*one);
  }
}

void Arithmetic(Importer& importer, const Node& node) {
  constexpr int64_t kMost = int64_t{1} << 31;
  node.Need(node.inputs() == 2, "it takes {} constants; expected 2", node.inputs());
  const Constant a = importer.Values(node, 0), b = importer.Values(node, 1);
  node.Need(a.integer == b.integer, "its constants are of two types");
  Constant result{.dims = Broadcast(node, a.dims, b.dims), .integer = a.integer};
  for (const Constant* side : {&a, &b})
    for (const int64_t number : side->ints)
      node.Need(IsFromBatch(number) || (number >= -kMost && number <= kMost),
                "its constants hold {}", number);
  a.integer ? ComputeEach(node, a, b, &Constant::ints, result)
            : ComputeEach(node, a, b, &Constant::floats, result);
  importer.GiveConstant(node, std::move(result));
}

void Gather(Importer& importer, const Node& node) {
  const Constant from = importer.Values(node, 0);
  Constant indices = importer.Values(node, 1);
  node.Need(from.integer && indices.integer && from.dims.size() == 1 && node.Int("axis", 0) == 0,
            "only elements of a list of integers can be gathered");
  Constant to{.dims = indices.dims, .integer = true};
  for (const int64_t index : indices.ints)
    to.ints.push_back(from.ints[static_cast<size_t>(AxisIn(node, index, from.Count()))]);
  importer.GiveConstant(node, std::move(to));
}

/// The positions that a Slice takes of an axis, as Python's slices do.
std::vector<int64_t> Positions(int64_t length, int64_t start, int64_t end, int64_t step) {
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? length : length - 1;
  const auto clamped = [&](int64_t i) {
    return std::clamp(i < 0 ? std::max<int64_t>(i, -length - 1) + length : i, lowest, highest);
  };
  std::vector<int64_t> positions;
  const int64_t last = clamped(end);
  for (int64_t i = clamped(start); step > 0 ? i < last : i > last; i += step)
    positions.push_back(i);
  return positions;
}

void Slice(Importer& importer, const Node& node) {
  if (!importer.IsConstant(node.input(0))) return SliceLayer(importer, node);
  const Constant from = importer.Values(node, 0);
  const std::vector<int64_t> starts = importer.Integers(node, 1, "starts"),
                             ends = importer.Integers(node, 2, "ends");
  std::vector<int64_t> axes = importer.Integers(node, 3, "axes"), steps = {1};
  if (axes.empty()) axes = {0};
  if (!node.input(4).empty()) steps = importer.Integers(node, 4);
  const auto rank = static_cast<int64_t>(from.dims.size());
  node.Need(from.integer && rank >= 1 && starts.size() == 1 && ends.size() == 1 &&
                axes.size() == 1 && (axes[0] == 0 || axes[0] == -rank) && steps.size() == 1 &&
                steps[0] != 0 && steps[0] >= -kLongestAxis && steps[0] <= kLongestAxis &&
                from.dims[0] > 0,
            "only a piece of a list of integers, or rows of a table of them, can be cut out");
  const int64_t row = from.Count() / from.dims[0];
  Constant to{.dims = from.dims, .integer = true};
  const std::vector<int64_t> rows = Positions(from.dims[0], starts[0], ends[0], steps[0]);
  to.dims[0] = static_cast<int64_t>(rows.size());
  for (const int64_t i : rows)
    to.ints.insert(to.ints.end(), from.ints.begin() + i * row, from.ints.begin() + (i + 1) * row);
  importer.GiveConstant(node, std::move(to));
}

/// Casts between floating-point types are ignored: the job sets the precision.
void Cast(Importer& importer, const Node& node) {
  const int64_t to = node.Int("to", 0);
  if (!importer.IsConstant(node.input(0)) && IsFloat(to))
    return importer.Give(node.output(), importer.Of(node, node.input(0)));
  Constant constant = importer.Values(node, 0);
  const bool integer = to == onnx::TensorProto::INT64 || to == onnx::TensorProto::INT32;
  node.Need(integer || IsFloat(to), "expected a cast to float, int32 or int64");
  node.Need(constant.integer == integer || constant.integer, "floats cannot be cast to integers");
  node.Need(integer || !constant.KnowsBatch(), "it computes with the number of examples");
  if (constant.integer && !integer)
    constant.floats.assign(constant.ints.begin(), constant.ints.end());
  constant.integer = integer;
  importer.GiveConstant(node, std::move(constant));
}

void ConstantOfShape(Importer& importer, const Node& node) {
  const std::vector<int64_t> dims = importer.Lengths(node, 0);
  constexpr int64_t kMost = 1 << 16;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    node.Need(!IsFromBatch(dim),
              "it creates values per example; expected a constant (stochastic depth is not "
              "supported: export with a probability of 0)");
    node.Need(dim >= 0 && dim <= kMost && count * dim <= kMost, "it makes too many numbers");
    count *= dim;
  }
  Constant fill{.dims = {1}, .floats = {0}};
  if (const auto* value = node.Find("value")) fill = node.file().Read(value->t());
  node.Need(fill.Count() == 1, "its value must be one number");
  fill.dims = dims;
  Either(fill, [&](auto& values) {
    const auto value = values[0];
    values.assign(static_cast<size_t>(count), value);
  });
  importer.GiveConstant(node, std::move(fill));
}

/// Transposes [rows, columns].
void Transpose(Importer& importer, const Node& node) {
  if (!importer.IsConstant(node.input(0))) return TransposeLayer(importer, node);
  Constant constant = importer.Values(node, 0);
  std::vector<int64_t> order = node.Ints("perm");
  node.Need(constant.dims.size() == 2 && (order.empty() || order == std::vector<int64_t>{1, 0}),
            "only constant matrices can be transposed");
  const auto rows = static_cast<size_t>(constant.dims[0]);
  const auto columns = static_cast<size_t>(constant.dims[1]);
  Either(constant, [&](auto& values) {
    auto turned = values;
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) turned[c * rows + r] = values[r * columns + c];
    values = std::move(turned);
  });
  std::swap(constant.dims[0], constant.dims[1]);
  importer.GiveConstant(node, std::move(constant));
}

void ConcatConstants(Importer& importer, const Node& node) {
  Constant all{.dims = {0}, .integer = true};
  for (int i = 0; i < node.inputs(); ++i) {
    const Constant part = importer.Values(node, i);
    node.Need(part.integer && part.dims.size() == 1, "only lists of integers can be joined");
    all.ints.insert(all.ints.end(), part.ints.begin(), part.ints.end());
  }
  all.dims[0] = static_cast<int64_t>(all.ints.size());
  importer.GiveConstant(node, std::move(all));
}

}  // namespace

void ComputeConstant(Importer& importer, const Node& node) {
  node.type() == "Concat" ? ConcatConstants(importer, node) : Arithmetic(importer, node);
}

Operators ConstantOperators() {
  return {{"Cast", Cast},      {"Constant", ConstantValue}, {"ConstantOfShape", ConstantOfShape},
          {"Div", Arithmetic}, {"Gather", Gather},          {"Shape", ShapeOfInput},
          {"Slice", Slice},    {"Sub", Arithmetic},         {"Transpose", Transpose}};
}

}  // namespace yoke::onnx_file
