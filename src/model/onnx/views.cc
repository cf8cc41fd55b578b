// Operators that do not change values in inference: other dimensions, names, dropout. They also
// apply to constants.
#include <algorithm>
#include <set>

#include "model/onnx/importer.h"
#include "tensor/sizes.h"

namespace yoke::onnx_file {
namespace {

void GiveView(Importer& importer, const Node& node, std::vector<int64_t> dims) {
  if (!importer.IsConstant(node.input(0)))
    return importer.View(node, importer.Of(node, node.input(0)), std::move(dims));
  Constant constant = importer.Values(node, 0);
  constant.dims = std::move(dims);
  importer.GiveConstant(node, std::move(constant));
}

std::vector<int64_t> DimsOf(Importer& importer, const Node& node) {
  const Datum& datum = importer.Of(node, node.input(0));
  return datum.tensor ? importer.Values(node, 0).dims : datum.dims;
}

void Identity(Importer& importer, const Node& node) {
  importer.Give(node.output(), importer.Of(node, node.input(0)));
}

/// A softmax at the end is omitted: the loss contains it.
void Softmax(Importer& importer, const Node& node) {
  const Datum& datum = importer.Row(node, 0);
  const int64_t axis = node.Int("axis", -1);
  node.Need(axis == 1 || axis == -1, "expected axis 1, that of the scores");
  std::string name = node.output();
  while (name != importer.ends().output) {
    const std::optional<Node> reader = importer.OnlyReader(name);
    node.Need(reader && reader->type() == "Identity",
              "softmax can only be the last node, where the loss takes its place");
    name = reader->output();
  }
  importer.OmitSoftmax();
  importer.Give(node.output(), datum);
}

void Flatten(Importer& importer, const Node& node) {
  const std::vector<int64_t> dims = DimsOf(importer, node);
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.Int("axis", 1);
  if (axis < 0) axis += rank;
  node.Need(axis == 1, "it must keep the batch axis and flatten the others (axis = 1)");
  const Datum& datum = importer.Of(node, node.input(0));
  node.Need(!datum.layer.empty(), "its input is constant");
  importer.View(node, datum, {kBatch, importer.ShapeOf(datum).Count()});
}

/// The target of a Reshape with all lengths known except the batch's; `lengths` have `count`
/// elements besides the batch.
std::vector<int64_t> Resolved(const Node& node, std::vector<int64_t> target, int64_t count) {
  int64_t known = 1;
  int unknown = 0;
  for (size_t i = 1; i < target.size(); ++i) {
    node.Need(!IsFromBatch(target[i]), "it asks for an axis as long as the number of examples");
    node.Need(target[i] >= kInferred && target[i] <= kLongestAxis,
              "it asks for an axis of length {}", target[i]);
    if (target[i] == kInferred)
      ++unknown;
    else
      known = std::min(known * target[i], kMostElements);
  }
  node.Need(unknown <= 1 && known > 0 && count % known == 0 && (unknown == 1 || known == count),
            "an example's {} elements do not fit the requested shape", count);
  for (size_t i = 1; i < target.size(); ++i)
    if (target[i] == kInferred) target[i] = count / known;
  return target;
}

void Reshape(Importer& importer, const Node& node) {
  std::vector<int64_t> target = importer.Lengths(node, 1);
  const std::vector<int64_t> dims = DimsOf(importer, node);
  if (node.Int("allowzero", 0) == 0)
    for (size_t i = 0; i < target.size() && i < dims.size(); ++i)
      if (target[i] == 0) target[i] = dims[i];
  const bool constant = importer.IsConstant(node.input(0));
  if (constant) {  // as the only example of a batch
    target.insert(target.begin(), kBatch);
    target = Resolved(node, target, importer.Values(node, 0).Count());
    target.erase(target.begin());
    return GiveView(importer, node, target);
  }
  const int64_t fixed = importer.ends().fixed_batch;
  node.Need(
      target.size() >= 2 && target.size() <= Shape::kMaxRank &&
          (target[0] == kBatch || target[0] == kInferred || (fixed > 0 && target[0] == fixed)),
      "it does not keep the batch axis in front");
  const int64_t count = importer.ShapeOf(importer.Of(node, node.input(0))).Count();
  // [-1, n] may mean "the batch and n elements", and [N, -1] "the batch and the rest".
  target[0] = kBatch;
  GiveView(importer, node, Resolved(node, target, count));
}

void Squeeze(Importer& importer, const Node& node) {
  std::vector<int64_t> dims = DimsOf(importer, node), kept;
  std::set<int64_t> gone;
  for (const int64_t axis : importer.Integers(node, 1, "axes"))
    gone.insert(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
  const bool all = gone.empty();
  node.Need(!all || importer.ends().fixed_batch != 1 || importer.IsConstant(node.input(0)),
            "without axes it leaves out the batch axis too, which has the length 1");
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool squeezed = all ? dims[i] == 1 : gone.contains(static_cast<int64_t>(i));
    node.Need(!squeezed || dims[i] == 1, "axis {} cannot be left out: its length is not 1", i);
    if (!squeezed) kept.push_back(dims[i]);
  }
  GiveView(importer, node, kept);
}

void Unsqueeze(Importer& importer, const Node& node) {
  std::vector<int64_t> dims = DimsOf(importer, node);
  std::vector<int64_t> axes = importer.Integers(node, 1, "axes");
  const auto rank = static_cast<int64_t>(dims.size() + axes.size());
  node.Need(rank <= Shape::kMaxRank + 1, "it makes more than {} axes", Shape::kMaxRank + 1);
  for (int64_t& axis : axes)
    if (axis < 0) axis += rank;
  std::ranges::sort(axes);
  for (const int64_t axis : axes) {
    node.Need(axis >= 0 && axis <= static_cast<int64_t>(dims.size()), "there is no axis {}", axis);
    node.Need(axis > 0 || importer.IsConstant(node.input(0)), "the batch axis must be the first");
    dims.insert(dims.begin() + axis, 1);
  }
  GiveView(importer, node, dims);
}

}  // namespace

Operators ViewOperators() {
  return {{"Flatten", Flatten},    {"Identity", Identity}, {"LogSoftmax", Softmax},
          {"Reshape", Reshape},    {"Softmax", Softmax},   {"Squeeze", Squeeze},
          {"Unsqueeze", Unsqueeze}};
}

}  // namespace yoke::onnx_file
