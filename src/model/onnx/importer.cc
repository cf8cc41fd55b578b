// Importer: links nodes by names, omits what the output does not need, and turns the others into
// layers.
#include "model/onnx/importer.h"

#include <algorithm>
#include <cmath>

#include "base/options.h"

namespace yoke::onnx_file {
namespace {

const Operators& AllOperators() {
  static const Operators all = [] {
    Operators merged = LayerOperators();
    merged.merge(ConstantOperators());
    merged.merge(ViewOperators());
    return merged;
  }();
  return all;
}

Operator FindOperator(const Node& node) {
  const std::string& domain = node.proto().domain();
  node.Need(domain.empty() || domain == "ai.onnx",
            "operators of the domain '{}' are unknown; expected those of ONNX itself", domain);
  const auto found = AllOperators().find(node.type());
  if (found != AllOperators().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, function] : AllOperators()) known.push_back(name);
  node.Refuse(UnknownName("operator", node.type(), known));
}

/// A layer's name without dots, slashes and blanks.
std::string Cleaned(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  name.erase(0, name.find_first_not_of('_'));
  return name;
}

}  // namespace

Importer::Importer(const OnnxFile& file)
    : file_(file), ends_(ReadEnds(file)), list_(Edge{.shape = ends_.shape}) {
  std::vector<int64_t> dims = {kBatch};
  dims.insert(dims.end(), ends_.shape.axes().begin(), ends_.shape.axes().end());
  for (const auto& tensor : file.graph().initializer()) data_[tensor.name()] = {.tensor = &tensor};
  data_[ends_.input] = {.layer = kDataName, .dims = std::move(dims)};
  FindLinks();
  FindLive();
}

void Importer::FindLinks() {
  const auto& nodes = file_.graph().node();
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output())
      if (!output.empty()) givers_[output] = i;
    for (const std::string& input : nodes[i].input())
      if (!input.empty()) readers_[input].push_back(i);
  }
}

void Importer::FindLive() {
  const auto& nodes = file_.graph().node();
  live_.resize(static_cast<size_t>(nodes.size()));
  std::vector<std::string> wanted = {ends_.output};
  while (!wanted.empty()) {
    const auto giver = givers_.find(wanted.back());
    wanted.pop_back();
    if (giver == givers_.end() || live_[static_cast<size_t>(giver->second)]) continue;
    live_[static_cast<size_t>(giver->second)] = true;
    const auto& node = nodes[giver->second];
    if (std::optional<Pattern> pattern = FindPattern(*this, Node(file_, node))) {
      wanted.push_back(pattern->input);
      patterns_.emplace(giver->second, std::move(*pattern));
    } else {
      wanted.insert(wanted.end(), node.input().begin(), node.input().end());
    }
  }
}

OnnxModel Importer::Read() {
  const auto& nodes = file_.graph().node();
  for (int i = 0; i < nodes.size(); ++i)
    if (live_[static_cast<size_t>(i)] && !data_.contains(Node(file_, nodes[i]).output()))
      Visit(Node(file_, nodes[i]), i);
  return Finish();
}

void Importer::Visit(const Node& node, int index) {
  try {
    if (const auto pattern = patterns_.find(index); pattern != patterns_.end())
      AddLayer(node, {.type = pattern->second.type,
                      .options = pattern->second.options,
                      .inputs = {Of(node, pattern->second.input)}});
    else
      FindOperator(node)(*this, node);
  } catch (const UserError& error) {
    if (std::string_view(error.what()).starts_with(file_.name())) throw;
    node.Refuse(error.what());
  }
}

OnnxModel Importer::Finish() {
  const auto found = data_.find(ends_.output);
  Require(found != data_.end() && !found->second.layer.empty() && found->second.layer != kDataName,
          "{}: no layer computes the graph's output '{}'", file_.name(), ends_.output);
  const Shape scores = list_.ShapeOf(found->second.layer);
  Require(scores.rank() == 1 && found->second.dims.size() == 2,
          "{}: the graph's output '{}' is {} for an example; expected a row of scores",
          file_.name(), ends_.output, scores.Text());
  return {.input = ends_.shape,
          .outputs = scores[0],
          .layers = std::move(tables_),
          .weights = std::move(weights_)};
}

bool Importer::IsConstant(const std::string& name) const {
  const auto found = data_.find(name);
  return found != data_.end() && found->second.layer.empty();
}

const Datum& Importer::Of(const Node& node, const std::string& name) const {
  const auto found = data_.find(name);
  node.Need(!name.empty(), "an input is missing");
  node.Need(found != data_.end(), "no earlier node produces its input '{}'", name);
  return found->second;
}

Constant Importer::Numbers(const Node& node, int input) const {
  const Datum& datum = Of(node, node.input(input));
  node.Need(datum.layer.empty(), "its input '{}' must be constant", node.input(input));
  return datum.constant ? *datum.constant : file_.Read(*datum.tensor);
}

std::vector<int64_t> Importer::Integers(const Node& node, int input) const {
  Constant constant = Numbers(node, input);
  node.Need(constant.integer, "its input '{}' must hold integers", node.input(input));
  return std::move(constant.ints);
}

const Datum& Importer::Image(const Node& node, int input) const {
  const Datum& datum = Of(node, node.input(input));
  node.Need(!datum.layer.empty(), "its input '{}' is constant", node.input(input));
  node.Need(
      datum.dims.size() == 4 && ShapeOf(datum).rank() == 3,
      "its input '{}' has {} axes for an example; expected an image (channels, height, width)",
      node.input(input), datum.dims.size() - 1);
  return datum;
}

const Datum& Importer::Row(const Node& node, int input) const {
  const Datum& datum = Of(node, node.input(input));
  node.Need(!datum.layer.empty(), "its input '{}' is constant", node.input(input));
  node.Need(datum.dims.size() == 2, "its input '{}' has {} axes for an example; expected one",
            node.input(input), datum.dims.size() - 1);
  return datum;
}

const std::vector<int>& Importer::Readers(const std::string& name) const {
  static const std::vector<int> none;
  const auto found = readers_.find(name);
  return found == readers_.end() ? none : found->second;
}

std::optional<Node> Importer::OnlyReader(const std::string& name) const {
  const std::vector<int>& readers = Readers(name);
  if (readers.size() != 1 || name == ends_.output) return {};
  return Node(file_, file_.graph().node(readers[0]));
}

std::optional<Node> Importer::GiverOf(const std::string& name) const {
  const auto found = givers_.find(name);
  if (found == givers_.end()) return {};
  return Node(file_, file_.graph().node(found->second));
}

std::optional<double> Importer::Number(const std::string& name) const {
  const auto found = data_.find(name);
  const onnx::TensorProto* tensor = found != data_.end() ? found->second.tensor : nullptr;
  if (const std::optional<Node> giver = GiverOf(name)) {
    const auto* value = giver->type() == "Constant" ? giver->Find("value") : nullptr;
    if (value) tensor = &value->t();
  }
  if (!tensor) return {};
  const Constant constant = file_.Read(*tensor);
  if (constant.Count() != 1 || constant.integer) return {};
  return Shortest(constant.floats[0]);
}

void Importer::GiveConstant(const Node& node, Constant constant) {
  Datum datum;
  datum.dims = constant.dims;
  datum.constant = std::make_shared<const Constant>(std::move(constant));
  Give(node.output(), std::move(datum));
}

std::string Importer::NameFor(const Node& node, const NewLayer& layer) {
  const std::string& weight = layer.named_after;
  const size_t dot = weight.rfind('.');
  std::string name = dot != std::string::npos ? Cleaned(weight.substr(0, dot)) : "";
  if (name.empty() || list_.Has(name)) name = Cleaned(node.name());
  if (name.empty() || name == kDataName) name = layer.type;
  if (!list_.Has(name)) return name;
  int& number = numbers_.try_emplace(name, 1).first->second;
  for (;;)
    if (std::string numbered = fmt::format("{}_{}", name, ++number); !list_.Has(numbered))
      return numbered;
}

void Importer::AddLayer(const Node& node, NewLayer layer, int output) {
  Table table = {{"type", layer.type}, {"name", NameFor(node, layer)}};
  List inputs;
  for (const Datum& input : layer.inputs) {
    node.Need(!input.layer.empty(), "an input of it is constant; expected the output of a layer");
    inputs.emplace_back(input.layer);
  }
  table.emplace_back("inputs", std::move(inputs));
  table.insert(table.end(), layer.options.begin(), layer.options.end());
  const ListedLayer& listed = list_.Add(table);
  node.Need(listed.output.Count() >= 1, "it gives {} for an example", listed.output.Text());
  KeepWeights(node, listed, layer);
  std::vector<int64_t> dims = {kBatch};
  dims.insert(dims.end(), listed.output.axes().begin(), listed.output.axes().end());
  Give(node.output(output), {.layer = listed.name, .dims = std::move(dims)});
  tables_.emplace_back(std::move(table));
}

void Importer::KeepWeights(const Node& node, const ListedLayer& listed, NewLayer& layer) {
  for (const ParamSpec& spec : listed.params) {
    const auto given = std::ranges::find(layer.weights, spec.name, [](auto& w) { return w.first; });
    Check(given != layer.weights.end(), "a layer from ONNX has a parameter without numbers");
    node.Need(static_cast<int64_t>(given->second.size()) == spec.shape.Count(),
              "its {} holds {} numbers; expected {} ({})", spec.name, given->second.size(),
              spec.shape.Count(), spec.shape.Text());
    const auto bad =
        std::ranges::find_if_not(given->second, [](float x) { return std::isfinite(x); });
    node.Need(bad == given->second.end(), "its {} holds {}: expected finite numbers", spec.name,
              bad == given->second.end() ? 0 : *bad);
    weights_.push_back({listed.name + "." + spec.name, std::move(given->second)});
  }
}

void Importer::View(const Node& node, const Datum& from, std::vector<int64_t> dims) {
  if (dims.size() == 2 && ShapeOf(from).rank() != 1)
    return AddLayer(node, {.type = "flatten", .inputs = {from}});
  Give(node.output(), {.layer = from.layer, .dims = std::move(dims)});
}

}  // namespace yoke::onnx_file
