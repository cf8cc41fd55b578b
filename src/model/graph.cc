// Graph: totals and queries over a model's layers.
#include "model/graph.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "model/graph_node.h"

namespace yoke {
namespace {

bool ReadsTheOneBefore(const GraphNode& node) {
  return node.inputs == std::vector<int>{static_cast<int>(node.index) - 1};
}

/// Whether a node reads the one before it, outputs a row, and has only dense parameters.
bool InChain(const GraphNode& node, const ParamLayout& layout) {
  const bool dense = std::ranges::all_of(
      node.slices, [&](int slice) { return layout.slices()[slice].kind == SliceKind::kDense; });
  return ReadsTheOneBefore(node) && node.output.shape.axes().size() <= 1 && dense &&
         !node.output.active;
}

/// The node above CutAt::kFullyConnected, or 0.
size_t FirstConnected(const std::vector<GraphNode>& nodes, const ParamLayout& layout) {
  size_t cut = 0;
  for (size_t i = nodes.size() - 1; i > 0 && InChain(nodes[i], layout); --i)
    if (nodes[i].fully_connected) cut = i;
  return cut;
}

/// The node above CutAt::kHashed, or 0.
size_t FirstHashed(const std::vector<GraphNode>& nodes) {
  size_t cut = nodes.size() - 1;  // the loss
  if (!ReadsTheOneBefore(nodes[cut])) return 0;
  while (cut > 0 && nodes[cut - 1].output.active && ReadsTheOneBefore(nodes[cut - 1])) --cut;
  return cut + 1 == nodes.size() ? 0 : cut;
}

}  // namespace

struct Graph::State {
  ModelTask task;
  std::vector<GraphNode> nodes;
  ParamLayout layout;
};

Graph::Graph(const List& layers, const ModelTask& task, DType rows)
    : state_(std::make_unique<State>()) {
  state_->task = task;
  state_->nodes = BuildNodes(layers, state_->task, state_->layout);
  state_->layout.StoreRowsAs(rows);
  state_->layout.Pack();
}

Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;

const ParamLayout& Graph::layout() const { return state_->layout; }

const ModelTask& Graph::task() const { return state_->task; }

std::vector<LayerInfo> Graph::Info(int64_t batch) const {
  std::vector<LayerInfo> rows;
  for (const GraphNode& node : state_->nodes) {
    int64_t parameters = 0;
    for (int slice : node.slices) {
      const Slice& s = state_->layout.slices()[slice];
      if (s.kind != SliceKind::kBuffer) parameters += s.Count();
    }
    std::vector<std::string> inputs;
    for (const int input : node.inputs)
      inputs.push_back(input == kData ? "data" : state_->nodes[input].name);
    rows.push_back({.name = node.name,
                    .type = node.type,
                    .absorbed = node.absorbed,
                    .inputs = std::move(inputs),
                    .output = node.output.shape,
                    .parameters = parameters,
                    .cost = node.layer->Price(batch),
                    .forward = node.layer->ForwardPart(),
                    .explanation = node.layer->Explain()});
  }
  return rows;
}

Cost Graph::Price(int64_t batch, GraphPart part, CutAt at) const {
  const auto all = std::span(state_->nodes);
  const size_t cut = part == GraphPart::kWhole ? all.size() : Cut(at).value().node;
  Cost cost;
  for (const GraphNode& node : part == GraphPart::kHead ? all.subspan(cut) : all.first(cut)) {
    cost += node.layer->Price(batch);
    cost.kernels += node.slices.empty() ? 2 : 3;  // forward, and its gradients
  }
  return cost;
}

std::optional<GraphCut> Graph::Cut(CutAt at) const {
  return FindCut(state_->nodes, state_->layout, at);
}

LayerStates Graph::MakeStates() const {
  std::vector<std::unique_ptr<LayerState>> states;
  for (const GraphNode& node : state_->nodes) states.push_back(node.layer->MakeState());
  return LayerStates(std::move(states));
}

std::vector<StateTensor> Graph::StateTensors(const LayerStates& states) const {
  std::vector<StateTensor> all;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states.of(i)) continue;
    for (StateTensor& tensor : states.of(i)->Tensors()) {
      tensor.name = state_->nodes[i].name + "." + tensor.name;
      all.push_back(std::move(tensor));
    }
  }
  return all;
}

LossFunction Graph::Loss() const { return state_->nodes.back().loss.value(); }

std::optional<OutputProduct> Graph::Output() const {
  const int below = state_->nodes.back().inputs[0];
  const GraphNode& node = state_->nodes[below];
  if (!node.fully_connected || !node.fully_connected->IsProduct()) return {};
  const Shape& weight = state_->layout.slices()[node.slices[0]].shape;
  return OutputProduct{.weight = node.slices[0],
                       .bias = node.slices.size() > 1 ? node.slices[1] : -1,
                       .inputs = weight[1],
                       .outputs = weight[0],
                       .node = static_cast<size_t>(below)};
}

std::unique_ptr<GraphPlan> Graph::Compile(const CompileRequest& request) const {
  Check(request.batch > 0, "a graph is compiled for at least one example");
  Check(!request.below_output || (Output() && !request.training),
        "only a forward pass can stop below an output product");
  if (request.part == GraphPart::kWhole)
    return CompileGraph(state_->nodes, state_->layout, state_->task.input, request);
  const std::optional<GraphCut> cut = Cut(request.cut);
  Check(cut && request.training && !request.below_output, "a graph that has a cut trains in parts");
  const Edge above = {.shape = cut->activations};
  return CompileGraph(state_->nodes, request.layout ? *request.layout : state_->layout,
                      request.part == GraphPart::kHead ? above : state_->task.input, request);
}

std::optional<GraphCut> FindCut(const std::vector<GraphNode>& nodes, const ParamLayout& layout,
                                CutAt at) {
  const size_t cut = at == CutAt::kHashed ? FirstHashed(nodes) : FirstConnected(nodes, layout);
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
