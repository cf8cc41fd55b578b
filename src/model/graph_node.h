// GraphNode: one layer at its position in a graph; functions that build and compile a list of
// nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/graph.h"
#include "model/layer.h"
#include "tensor/sizes.h"

namespace yoke {

/// Index of the model's input, as a node's input.
inline constexpr int kData = -1;

struct GraphNode {
  std::string name;
  std::string type;                   ///< "linear", or "linear+relu" if it absorbed the next layer.
  std::vector<Fusion> absorbed = {};  ///< The layers that it absorbed, in order.
  std::unique_ptr<Layer> layer;
  std::vector<int> inputs;                          ///< Nodes before this one, or kData.
  const FullyConnected* fully_connected = nullptr;  ///< The layer, if it is one.
  std::optional<LossFunction> loss = {};            ///< As LayerEntry::loss.
  Edge output = {};                                 ///< As Layer::Output.
  size_t index = 0;                                 ///< Position in the graph's list.
  std::vector<int> slices = {};                     ///< Indices of its parameters in the layout.
  std::string place = {};                           ///< Place of its table ("job.toml:12"), or "".
};

/// Returns the result of `work`. A UserError of `work` is prefixed with `place`, unless it already
/// begins with a place in the same file.
template <typename Work>
auto AtPlace(const std::string& place, const Work& work) {
  try {
    return work();
  } catch (const UserError& error) {
    const std::string sentence = error.what(), file = place.substr(0, place.rfind(':'));
    throw UserError(sentence.starts_with(file) ? sentence : place + ": " + sentence);
  }
}

/// Returns the result of `work`. If a shape in it is too large, the error names the layer.
template <typename Work>
auto OfLayer(const std::string& name, const std::string& type, const Work& work) {
  try {
    return work();
  } catch (const TooLarge& error) {
    throw UserError(fmt::format("layer '{}' ({}): {}", name, type, error.what()));
  }
}

/// Builds the nodes of a model in topological order; the last one is the main loss. Appends their
/// parameters to `layout`. Throws UserError.
std::vector<GraphNode> BuildNodes(const List& layers, const ModelTask& task, ParamLayout& layout);

/// Marks all nodes that `roots` depend on, including `roots`.
std::vector<bool> NodesBelow(const std::vector<GraphNode>& nodes, const std::vector<int>& roots);

/// As Graph::Cut.
std::optional<GraphCut> FindCut(const std::vector<GraphNode>& nodes, const ParamLayout& layout,
                                CutAt at);

/// `input` is that of the graph, or of the head if the request is for the head. The plan keeps
/// references to nodes and layout.
std::unique_ptr<GraphPlan> CompileGraph(const std::vector<GraphNode>& nodes,
                                        const ParamLayout& layout, const Edge& input,
                                        const CompileRequest& request);

}  // namespace yoke
