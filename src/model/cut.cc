// FindCut: walks from the loss down through linear layers and the layers between them.
#include <algorithm>

#include "model/graph_node.h"

namespace yoke {
namespace {

/// Whether a node reads the one before it, outputs a row, and has only dense parameters.
bool InChain(const GraphNode& node, const ParamLayout& layout) {
  const bool dense = std::ranges::all_of(
      node.slices, [&](int slice) { return layout.slices()[slice].kind == SliceKind::kDense; });
  return node.inputs == std::vector<int>{static_cast<int>(node.index) - 1} &&
         node.output.shape.axes().size() <= 1 && dense && !node.output.active;
}

}  // namespace

std::optional<GraphCut> FindCut(const std::vector<GraphNode>& nodes, const ParamLayout& layout) {
  size_t cut = 0;
  for (size_t i = nodes.size() - 1; i > 0 && InChain(nodes[i], layout); --i)
    if (nodes[i].fully_connected) cut = i;
  if (cut == 0) return {};
  const auto body = std::span(nodes).first(cut);
  if (std::ranges::any_of(body, [](const GraphNode& node) { return node.loss.has_value(); }))
    return {};
  const int first = nodes[cut].slices[0];
  const auto below = std::span(layout.slices()).first(first);
  if (std::ranges::all_of(below, [](const Slice& s) { return s.kind == SliceKind::kBuffer; }))
    return {};
  return GraphCut{.node = static_cast<int>(cut),
                  .first_slice = first,
                  .activations = nodes[cut - 1].output.shape};
}

}  // namespace yoke
