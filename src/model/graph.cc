// Graph: builds the nodes of a model from its list of layers.
#include "model/graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/registry.h"
#include "model/graph_node.h"

namespace yoke {

struct Graph::State {
  ModelTask task;
  std::vector<GraphNode> nodes;
  ParamLayout layout;
};

namespace {

/// A layer as written: its options, and what stands before them in messages.
struct LayerTable {
  std::string type;
  std::string name;  ///< "" when none was given.
  std::string section;
  Value options;
};

std::string TextIn(const Value& table, const std::string& key, const std::string& section) {
  const Value* value = table.Find(key);
  if (!value) return "";
  Require(value->AsString(), "{}: {}.{} must be a text in quotes", value->place(), section, key);
  return *value->AsString();
}

LayerTable ReadLayer(const Value& table, size_t index) {
  LayerTable layer;
  layer.section = fmt::format("model.layer[{}]", index);
  layer.options = table;
  Require(table.AsTable(), "{} must be a table with a type", layer.section);
  layer.type = TextIn(table, "type", layer.section);
  layer.name = TextIn(table, "name", layer.section);
  Require(!layer.type.empty(), "{}: {} has no type (such as \"linear\")", table.place(),
          layer.section);
  Require(layer.name.find_first_of("./ ") == std::string::npos,
          "{}: the name '{}' of {} may hold no dot, slash or blank", table.place(), layer.name,
          layer.section);
  layer.options.Erase("type");
  layer.options.Erase("name");
  return layer;
}

std::string LossFor(const ModelTask& task) {
  return task.multi_label ? "sigmoid_cross_entropy" : "softmax_cross_entropy";
}

/// Appends layers one by one; shapes follow from what stands below.
class Builder {
 public:
  Builder(const ModelTask& task, std::vector<GraphNode>& nodes, ParamLayout& layout)
      : task_(task), nodes_(nodes), layout_(layout) {}

  void Add(const LayerTable& table) {
    Require(nodes_.empty() || !nodes_.back().layer->IsLoss(),
            "{} stands behind the loss '{}', which must be the last layer", table.section,
            nodes_.empty() ? "" : nodes_.back().name);
    const LayerEntry& entry = FindEntry(layers(), "layer", table.type);
    const Options options(table.section, table.options, entry.options);
    const int number = ++numbers_[table.type];
    const LayerContext context{
        .name = table.name.empty() ? fmt::format("{}{}", table.type, number) : table.name,
        .input = Above(),
        .index = index_++};
    if (Absorbed(table.type)) return;
    Append(context.name, table.type, entry.make(options, context));
  }

  /// Adds the loss that belongs to the task unless there is one, and checks that the scores fit.
  void Finish() {
    Require(!nodes_.empty(), "the model has no layers");
    if (!nodes_.back().layer->IsLoss())
      Add({.type = LossFor(task_), .name = "", .section = "the loss", .options = Value(Table{})});
  }

 private:
  Edge Above() const {
    if (nodes_.empty()) return task_.input;
    return {.shape = nodes_.back().output, .active = nodes_.back().layer->Active()};
  }

  bool Absorbed(const std::string& type) {
    if (nodes_.empty() || !nodes_.back().layer->Fuse(type)) return false;
    nodes_.back().type += "+" + type;
    return true;
  }

  void Append(const std::string& name, const std::string& type, std::unique_ptr<Layer> layer) {
    for (const GraphNode& other : nodes_)
      Require(other.name != name, "two layers are named '{}': give one of them another name", name);
    if (layer->IsLoss()) CheckScores(name);
    GraphNode node{.name = name,
                   .type = type,
                   .layer = std::move(layer),
                   .input = static_cast<int>(nodes_.size()) - 1};
    node.output = node.layer->OutputShape();
    node.index = nodes_.size();
    for (ParamSpec& spec : node.layer->Params())
      node.slices.push_back(layout_.Add({.name = name + "." + spec.name,
                                         .shape = spec.shape,
                                         .kind = spec.kind,
                                         .initializer = std::move(spec.initializer),
                                         .fan_in = spec.fan_in,
                                         .fan_out = spec.fan_out}));
    nodes_.push_back(std::move(node));
  }

  void CheckScores(const std::string& loss) const {
    Require(!nodes_.empty(), "the loss '{}' needs a layer below it", loss);
    const GraphNode& last = nodes_.back();
    Require(last.output == Shape{task_.outputs},
            "layer '{}' gives {} and the data has {} {}: the layer below the loss must give one "
            "score for each (such as a linear layer with outputs = {})",
            last.name, last.output.Text(), task_.outputs, task_.multi_label ? "labels" : "classes",
            task_.outputs);
  }

  const ModelTask& task_;
  std::vector<GraphNode>& nodes_;
  ParamLayout& layout_;
  std::map<std::string, int> numbers_;
  int index_ = 0;
};

}  // namespace

Graph::Graph(const List& layers, const ModelTask& task) : state_(std::make_unique<State>()) {
  state_->task = task;
  Builder builder(state_->task, state_->nodes, state_->layout);
  for (size_t i = 0; i < layers.size(); ++i) builder.Add(ReadLayer(layers[i], i));
  builder.Finish();
  state_->layout.Pack();
}

Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;

const ParamLayout& Graph::layout() const { return state_->layout; }

const ModelTask& Graph::task() const { return state_->task; }

std::vector<LayerInfo> Graph::Info() const {
  std::vector<LayerInfo> rows;
  for (const GraphNode& node : state_->nodes) {
    int64_t parameters = 0;
    for (int slice : node.slices) {
      const Slice& s = state_->layout.slices()[slice];
      if (s.kind != SliceKind::kBuffer) parameters += s.Count();
    }
    rows.push_back({.name = node.name,
                    .type = node.type,
                    .output = node.output,
                    .parameters = parameters,
                    .cost = node.layer->Price(1),
                    .explanation = node.layer->Explain()});
  }
  return rows;
}

Cost Graph::Price(int64_t batch) const {
  Cost cost;
  for (const GraphNode& node : state_->nodes) cost += node.layer->Price(batch);
  return cost;
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

std::optional<OutputProduct> Graph::Output() const {
  if (state_->nodes.size() < 2) return {};
  const GraphNode& node = state_->nodes[state_->nodes.size() - 2];
  if (!node.layer->IsOutputProduct()) return {};
  const Shape& weight = state_->layout.slices()[node.slices[0]].shape;
  return OutputProduct{.weight = node.slices[0],
                       .bias = node.slices.size() > 1 ? node.slices[1] : -1,
                       .inputs = weight[1],
                       .outputs = weight[0]};
}

std::unique_ptr<GraphPlan> Graph::Compile(const CompileRequest& request) const {
  Check(request.batch > 0, "a graph is compiled for at least one example");
  Check(!request.below_output || (Output() && !request.training),
        "only a forward pass can stop below an output product");
  return CompileGraph(state_->nodes, state_->layout, state_->task.input, request);
}

}  // namespace yoke
