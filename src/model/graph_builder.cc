// Builds the nodes of a model from its list of layers: names, inputs, and fusion of layers.
#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/registry.h"
#include "base/utf8.h"
#include "model/graph_node.h"
#include "model/layer.h"
#include "model/layer_namer.h"

namespace yoke {
namespace {

/// A layer as written: its options, and the beginning of messages about it.
struct LayerTable {
  std::string type;
  std::string name = {};
  std::string section;
  std::string place = {};  ///< "job.toml:12", or "".
  Value options;
  std::vector<int> inputs = {};  ///< Tables before this one, or kData.
  int readers = 0;               ///< Tables that take its output.
  int node = kData;              ///< The node whose output it gives.
};

std::string TextIn(const Value& table, const std::string& key, const std::string& section) {
  const Value* value = table.Find(key);
  if (!value) return "";
  Require(value->AsString(), "{}.{} must be a string in quotes", section, key);
  return *value->AsString();
}

const LayerEntry& EntryOf(const LayerTable& table) {
  return FindEntry(layers(), "layer", table.type);
}

/// "two or more inputs"
std::string InputsOf(const LayerEntry& entry) {
  const size_t least = entry.least_inputs;
  const std::string number = least == 1 ? "one" : least == 2 ? "two" : std::to_string(least);
  const std::string more = entry.most_inputs == least ? ""
                           : entry.most_inputs == kAnyNumber
                               ? " or more"
                               : fmt::format(" to {}", entry.most_inputs);
  return number + more + (entry.most_inputs == 1 ? " input" : " inputs");
}

bool IsLoss(const LayerTable& table) { return EntryOf(table).loss.has_value(); }

/// Reads the tables one by one: names and inputs.
class TableReader {
 public:
  void Read(const Value& value) {
    AtPlace(value.place(), [&] { ReadTable(value); });
  }

  /// Appends the task's loss unless the last table is a loss.
  std::vector<LayerTable> Finish(const ModelTask& task) {
    Require(!tables_.empty(), "the model has no layers");
    if (!IsLoss(tables_.back()))
      Append({.type = task.UsualLoss(), .section = "the loss", .options = Value(Table{})}, nullptr);
    for (const LayerTable& table : tables_)
      AtPlace(table.place, [&] {
        Require(table.readers > 0 || IsLoss(table),
                "nothing takes the output of layer '{}': name it in another layer's inputs, or "
                "leave it out",
                table.name);
      });
    return std::move(tables_);
  }

 private:
  void ReadTable(const Value& value) {
    LayerTable table{.type = {},
                     .section = fmt::format("model.layer[{}]", tables_.size()),
                     .place = value.place(),
                     .options = value};
    Require(value.AsTable(), "{} must be a table with a type", table.section);
    table.type = TextIn(value, "type", table.section);
    table.name = TextIn(value, "name", table.section);
    Require(!table.type.empty(), "{} has no type (such as \"linear\")", table.section);
    Require(table.name.find_first_of("./ ") == std::string::npos && IsPlain(table.name),
            "the name '{}' of {} may not contain a dot, slash, space or control character",
            table.name, table.section);
    for (const char* key : {"type", "name", "inputs"}) table.options.Erase(key);
    Append(std::move(table), value.Find("inputs"));
  }

  void Append(LayerTable table, const Value* inputs) {
    const LayerEntry& entry = EntryOf(table);
    table.name = namer_.Name(table.type, table.name);
    Require(table.name != "data", "no layer may be named 'data': that is the model's input");
    Require(inputs || tables_.empty() || !IsLoss(tables_.back()),
            "layer '{}' follows the loss '{}': if that is the loss of an auxiliary head, name this "
            "layer's inputs",
            table.name, tables_.empty() ? "" : tables_.back().name);
    table.inputs = inputs ? Named(table, *inputs) : std::vector<int>{Above()};
    CheckInputs(entry, table);
    const auto index = static_cast<int>(tables_.size());
    Require(places_.emplace(table.name, index).second,
            "two layers are named '{}': give one of them another name", table.name);
    for (const int input : table.inputs)
      if (input != kData) ++tables_[input].readers;
    tables_.push_back(std::move(table));
  }

  int Above() const { return static_cast<int>(tables_.size()) - 1; }  // kData for the first table

  static void CheckInputs(const LayerEntry& entry, const LayerTable& table) {
    const size_t count = table.inputs.size();
    Require(count >= entry.least_inputs && count <= entry.most_inputs,
            "layer '{}' ({}) takes {}, not {}: inputs = [\"...\"] names them", table.name,
            table.type, InputsOf(entry), count);
    Require(!IsLoss(table) || table.inputs[0] != kData, "the loss '{}' needs a layer below it",
            table.name);
  }

  std::vector<int> Named(const LayerTable& table, const Value& inputs) const {
    const List* list = inputs.AsList();
    Require(list, "{}.inputs must be a list of layers' names", table.section);
    std::vector<int> found;
    for (const Value& name : *list) {
      Require(name.AsString(), "{}.inputs must be a list of layers' names", table.section);
      found.push_back(Find(table, *name.AsString()));
    }
    return found;
  }

  int Find(const LayerTable& table, const std::string& name) const {
    if (name == "data") return kData;
    const auto place = places_.find(name);
    Require(place != places_.end(),
            "layer '{}' takes '{}', but no layer before it has that name (\"data\" is the model's "
            "input)",
            table.name, name);
    Require(!IsLoss(tables_[place->second]),
            "layer '{}' takes the output of the loss '{}', which no layer may do", table.name,
            name);
    return place->second;
  }

  std::vector<LayerTable> tables_;
  LayerNamer namer_;
  std::map<std::string, int> places_;  // name -> table
};

/// Makes nodes from tables; shapes follow from the inputs.
class NodeMaker {
 public:
  NodeMaker(const ModelTask& task, std::vector<LayerTable> tables, ParamLayout& layout)
      : task_(task), tables_(std::move(tables)), layout_(layout) {}

  std::vector<GraphNode> Make() {
    for (size_t i = 0; i < tables_.size(); ++i)
      AtPlace(tables_[i].place, [&] {
        OfLayer(tables_[i].name, tables_[i].type,
                [&] { MakeNode(tables_[i], static_cast<int>(i)); });
      });
    return std::move(nodes_);
  }

 private:
  void MakeNode(LayerTable& table, int index) {
    const LayerEntry& entry = EntryOf(table);
    const Options options(table.section, table.options, entry.options);
    if (Absorbed(table)) return;
    LayerContext context{.name = table.name, .input = EdgeOf(table.inputs[0]), .index = index};
    for (size_t k = 1; k < table.inputs.size(); ++k)
      context.others.push_back(EdgeOf(table.inputs[k]));
    Append(table, entry.make(options, context));
  }

  int NodeOf(int table) const { return table == kData ? kData : tables_[table].node; }

  Edge EdgeOf(int table) const {
    const int node = NodeOf(table);
    return node == kData ? task_.input : nodes_[node].output;
  }

  /// Whether the layer that outputs a table's value may absorb its only reader.
  bool MayAbsorb(int table) const { return table != kData && tables_[table].readers == 1; }

  /// The later input of an addition absorbs it, so that the other one is computed before.
  bool Absorbed(LayerTable& table) {
    const std::optional<Fusion> what = EntryOf(table).fusion;
    if (!what || table.inputs.size() > 2) return false;
    const int into = std::ranges::max(table.inputs, {}, [&](int t) { return NodeOf(t); });
    if (!MayAbsorb(into)) return false;
    GraphNode& node = nodes_[NodeOf(into)];
    if (table.inputs.size() == 2) {
      const int other = table.inputs[table.inputs[0] == into ? 1 : 0];
      const Edge edge = EdgeOf(other);
      if (edge.sparse || edge.active || edge.shape != node.output.shape || !node.layer->Fuse(*what))
        return false;
      node.inputs.push_back(NodeOf(other));
    } else if (!node.layer->Fuse(*what)) {
      return false;
    }
    node.type += "+" + table.type;
    node.absorbed.push_back(*what);
    table.node = NodeOf(into);
    return true;
  }

  void Append(LayerTable& table, std::unique_ptr<Layer> layer) {
    if (IsLoss(table)) CheckScores(table);
    GraphNode node{.name = table.name,
                   .type = table.type,
                   .layer = std::move(layer),
                   .inputs = {},
                   .place = table.place};
    for (const int input : table.inputs) node.inputs.push_back(NodeOf(input));
    node.fully_connected = dynamic_cast<const FullyConnected*>(node.layer.get());
    node.loss = EntryOf(table).loss;
    node.output = node.layer->Output();
    node.index = nodes_.size();
    for (ParamSpec& spec : node.layer->Params())
      node.slices.push_back(layout_.Add({.name = table.name + "." + spec.name,
                                         .shape = spec.shape,
                                         .kind = spec.kind,
                                         .initializer = std::move(spec.initializer),
                                         .fan_in = spec.fan_in,
                                         .fan_out = spec.fan_out,
                                         .keep_f32 = spec.keep_f32}));
    table.node = static_cast<int>(nodes_.size());
    nodes_.push_back(std::move(node));
  }

  void CheckScores(const LayerTable& loss) const {
    Require(IsRegression(*EntryOf(loss).loss) == task_.regression,
            "the loss '{}' ({}) does not fit the data, which have {}: expected {}", loss.name,
            loss.type, task_.Kind(),
            task_.regression ? "a regression loss, such as mean_squared_error" : task_.UsualLoss());
    const GraphNode& last = nodes_[NodeOf(loss.inputs[0])];
    AtPlace(last.place, [&] { CheckOutput(last); });
  }

  void CheckOutput(const GraphNode& last) const {
    Require(last.output.shape == Shape{task_.outputs},
            "layer '{}' has output {}, but the data has {} {}: the layer below the loss must "
            "output one score for each (such as a linear layer with outputs = {})",
            last.name, last.output.shape.Text(), task_.outputs, task_.Kind(), task_.outputs);
  }

  const ModelTask& task_;
  std::vector<LayerTable> tables_;
  ParamLayout& layout_;
  std::vector<GraphNode> nodes_;
};

}  // namespace

std::vector<GraphNode> BuildNodes(const List& layers, const ModelTask& task, ParamLayout& layout) {
  TableReader reader;
  for (const Value& layer : layers) reader.Read(layer);
  return NodeMaker(task, reader.Finish(task), layout).Make();
}

std::vector<bool> NodesBelow(const std::vector<GraphNode>& nodes, const std::vector<int>& roots) {
  std::vector<bool> below(nodes.size());
  for (const int root : roots)
    if (root != kData) below[root] = true;
  for (size_t i = nodes.size(); i-- > 0;)
    if (below[i])
      for (const int input : nodes[i].inputs)
        if (input != kData) below[input] = true;
  return below;
}

}  // namespace yoke
