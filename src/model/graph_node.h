// GraphNode: one layer in its place in a graph, and how a list of them is made and compiled.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/graph.h"
#include "tensor/sizes.h"

namespace yoke {

/// The model's input, where a node's input is meant.
inline constexpr int kData = -1;

struct GraphNode {
  std::string name;
  std::string type;  ///< "linear", or "linear+relu" when it absorbed what followed.
  std::unique_ptr<Layer> layer;
  std::vector<int> inputs;       ///< Nodes before this one, or kData.
  Shape output = {};             ///< For one example.
  size_t index = 0;              ///< Its place in the graph's list.
  std::vector<int> slices = {};  ///< Indices of its parameters in the layout.
  std::string place = {};        ///< Where its table was written ("job.toml:12"); "": nowhere.
};

/// What `work` gives; its UserError begins with `place`, or with another place of the same file.
template <typename Work>
auto AtPlace(const std::string& place, const Work& work) {
  try {
    return work();
  } catch (const UserError& error) {
    const std::string sentence = error.what(), file = place.substr(0, place.rfind(':'));
    throw UserError(sentence.starts_with(file) ? sentence : place + ": " + sentence);
  }
}

/// What `work` gives; a shape in it that is too large names the layer.
template <typename Work>
auto OfLayer(const std::string& name, const std::string& type, const Work& work) {
  try {
    return work();
  } catch (const TooLarge& error) {
    throw UserError(fmt::format("layer '{}' ({}): {}", name, type, error.what()));
  }
}

/// The nodes of a model, each behind those that it takes input from; the last one is the loss by
/// which the model is judged. Appends their parameters to `layout`. Throws UserError.
std::vector<GraphNode> BuildNodes(const List& layers, const ModelTask& task, ParamLayout& layout);

/// Marks the nodes from whose outputs `roots` follow, these included.
std::vector<bool> NodesBelow(const std::vector<GraphNode>& nodes, const std::vector<int>& roots);

/// As Graph::Cut.
std::optional<GraphCut> FindCut(const std::vector<GraphNode>& nodes, const ParamLayout& layout);

/// `input`: of the graph, or of its head where the request is for that. The plan refers to nodes
/// and layout.
std::unique_ptr<GraphPlan> CompileGraph(const std::vector<GraphNode>& nodes,
                                        const ParamLayout& layout, const Edge& input,
                                        const CompileRequest& request);

}  // namespace yoke
