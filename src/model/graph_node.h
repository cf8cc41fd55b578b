// GraphNode: one layer in its place in a graph, and how a list of them is compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/graph.h"

namespace yoke {

struct GraphNode {
  std::string name;
  std::string type;  ///< "linear", or "linear+relu" when it absorbed what followed.
  std::unique_ptr<Layer> layer;
  int input = -1;                ///< The node whose output comes in; -1: the data.
  Shape output = {};             ///< For one example.
  size_t index = 0;              ///< Its place in the graph's list.
  std::vector<int> slices = {};  ///< Indices of its parameters in the layout.
};

/// Nodes stand behind the nodes that they take input from; the last one is the loss. The plan
/// refers to nodes and layout.
std::unique_ptr<GraphPlan> CompileGraph(const std::vector<GraphNode>& nodes,
                                        const ParamLayout& layout, const Edge& input,
                                        const CompileRequest& request);

}  // namespace yoke
