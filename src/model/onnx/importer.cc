// Importer: links nodes by names, omits what the output does not need, and turns the others into
// layers.
#include "model/onnx/importer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/options.h"
#include "base/registry.h"

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
  node.Need(node.Int("broadcast", 0) == 0 || !node.Find("axis"),
            "it broadcasts along an axis in the form of opset 6; expected opset 7 or later");
  const auto found = AllOperators().find(node.type());
  if (found != AllOperators().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, function] : AllOperators()) known.push_back(name);
  node.Refuse(UnknownName("operator", node.type(), known));
}

/// A shape with the batch axis in front.
std::vector<int64_t> Batched(const Shape& shape) {
  std::vector<int64_t> dims = {kBatch};
  dims.insert(dims.end(), shape.axes().begin(), shape.axes().end());
  return dims;
}

/// The loss that yoke noted in a file of its own; "" in others.
std::string LossOf(const OnnxFile& file) {
  const std::string type = file.Metadata("loss");
  const auto entry = std::ranges::find(layers(), type, &LayerEntry::name);
  return entry != layers().end() && entry->loss ? type : "";
}

/// A layer's name without dots, slashes and blanks.
std::string Cleaned(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  name.erase(0, name.find_first_not_of('_'));
  return name;
}

}  // namespace

std::string TextOf(const std::vector<int64_t>& dims) {
  return dims.empty() ? "" : fmt::format("{}", fmt::join(dims.begin() + 1, dims.end(), "x"));
}

Importer::Importer(const OnnxFile& file) : file_(file), list_(Edge{}) {
  for (const auto& tensor : file.graph().initializer()) data_[tensor.name()] = {.tensor = &tensor};
  FindGivers();
  FindLive();
  FindReaders();
  CheckOperators();  // before all else: why most files that cannot be read cannot be read
  ends_ = ReadEnds(file);
  list_ = LayerList(Edge{.shape = ends_.shape});
  data_[ends_.input] = {.layer = kDataName, .dims = Batched(ends_.shape)};
}

void Importer::FindGivers() {
  const auto& nodes = file_.graph().node();
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].output())
      if (!output.empty()) givers_[output] = i;
}

void Importer::FindReaders() {
  const auto& nodes = file_.graph().node();
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& input : nodes[i].input())
      if (live_[static_cast<size_t>(i)] && !input.empty()) readers_[input].push_back(i);
}

void Importer::CheckOperators() const {
  for (int i = 0; i < file_.graph().node_size(); ++i)
    if (live_[static_cast<size_t>(i)] && !patterns_.contains(i))
      FindOperator(Node(file_, file_.graph().node(i)));
}

void Importer::FindLive() {
  const auto& nodes = file_.graph().node();
  live_.resize(static_cast<size_t>(nodes.size()));
  std::vector<std::string> wanted;
  for (const auto& output : file_.graph().output()) wanted.push_back(output.name());
  while (!wanted.empty()) {
    const auto giver = givers_.find(wanted.back());
    wanted.pop_back();
    if (giver == givers_.end() || live_[static_cast<size_t>(giver->second)]) continue;
    live_[static_cast<size_t>(giver->second)] = true;
    const auto& node = nodes[giver->second];
    if (std::optional<Pattern> pattern = FindPattern(*this, Node(file_, node))) {
      wanted.push_back(pattern->input);
      if (pattern->axes)
        for (const std::string& name : {pattern->axes->view, pattern->axes->pads,
                                        pattern->axes->restore, pattern->axes->squeeze})
          wanted.push_back(name);
      patterns_.emplace(giver->second, std::move(*pattern));
    } else {
      wanted.insert(wanted.end(), node.input().begin(), node.input().end());
    }
  }
}

OnnxModel Importer::Read() {
  Require(file_.Metadata("complete").empty(),
          "{} computes normalization and probabilities in its graph, which yoke does itself: "
          "expected an export without --complete",
          file_.name());
  const auto& nodes = file_.graph().node();
  for (int i = 0; i < nodes.size(); ++i)
    if (live_[static_cast<size_t>(i)] && !IsGiven(nodes[i])) Visit(Node(file_, nodes[i]), i);
  return Finish();
}

void Importer::Visit(const Node& node, int index) {
  try {
    const auto pattern = patterns_.find(index);
    pattern == patterns_.end() ? FindOperator(node)(*this, node)
                               : AddPattern(node, pattern->second);
  } catch (const UserError& error) {
    if (std::string_view(error.what()).starts_with(file_.name())) throw;
    node.Refuse(error.what());
  }
}

/// Whether the operator of an earlier node has given what the output needs of this one.
bool Importer::IsGiven(const onnx::NodeProto& node) const {
  return std::ranges::any_of(node.output(), [&](const std::string& name) {
    return !name.empty() && data_.contains(name);
  });
}

void Importer::AddPattern(const Node& node, const Pattern& pattern) {
  const Datum& input = Of(node, pattern.input);
  node.Need(!input.layer.empty(), "its input '{}' is constant", pattern.input);
  if (pattern.axes) CheckPoolAxes(*this, node, pattern);
  AddLayer(node, {.type = pattern.type,
                  .options = pattern.options,
                  .inputs = {input},
                  .dims = pattern.axes ? std::vector<int64_t>() : input.dims});
}

OnnxModel Importer::Finish() {
  const auto found = data_.find(ends_.output);
  Require(found != data_.end() && !found->second.layer.empty() && found->second.layer != kDataName,
          "{}: no layer computes the graph's output '{}'", file_.name(), ends_.output);
  const Shape scores = list_.ShapeOf(found->second.layer);
  Require(scores.rank() == 1 && !IsView(found->second),
          "{}: the graph's output '{}' is {} for an example; expected a row of scores",
          file_.name(), ends_.output, TextOf(found->second.dims));
  return {.input = ends_.shape,
          .outputs = scores[0],
          .softmax_omitted = softmax_omitted_,
          .loss = LossOf(file_),
          .hashed = file_.Metadata("output_layer") == "lsh_linear",
          .layers = std::move(tables_),
          .weights = std::move(weights_),
          .metadata = file_.Metadata()};
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

Constant Importer::Values(const Node& node, int input) const {
  const Datum& datum = Of(node, node.input(input));
  node.Need(datum.layer.empty(), "its input '{}' must be constant", node.input(input));
  return datum.constant ? *datum.constant : file_.Read(*datum.tensor);
}

std::vector<int64_t> Importer::Integers(const Node& node, int input) const {
  std::vector<int64_t> values = Lengths(node, input);
  node.Need(!Constant{.dims = {}, .integer = true, .ints = values}.KnowsBatch(),
            "its input '{}' depends on the number of examples", node.input(input));
  return values;
}

std::vector<int64_t> Importer::Lengths(const Node& node, int input) const {
  Constant constant = Values(node, input);
  node.Need(constant.integer, "its input '{}' must hold integers", node.input(input));
  return std::move(constant.ints);
}

std::vector<int64_t> Importer::Integers(const Node& node, int input, const char* attribute) const {
  return node.input(input).empty() ? node.Ints(attribute) : Integers(node, input);
}

double Importer::Number(const Node& node, int input, const char* attribute, double fallback) const {
  if (node.input(input).empty()) return node.Float(attribute, fallback);
  const Constant constant = Values(node, input);
  node.Need(constant.Count() == 1 && !constant.integer, "its input '{}' is not one number",
            node.input(input));
  return Shortest(constant.floats[0]);
}

bool Importer::IsView(const Datum& datum) const { return datum.dims != Batched(ShapeOf(datum)); }

void Importer::NeedNoView(const Node& node, const Datum& datum) const {
  node.Need(!IsView(datum),
            "its input is {} for an example, a view of {}: only operators that work number by "
            "number can follow a view",
            TextOf(datum.dims), ShapeOf(datum).Text());
}

const Datum& Importer::Image(const Node& node, int input) const {
  const Datum& datum = Of(node, node.input(input));
  node.Need(!datum.layer.empty(), "its input '{}' is constant", node.input(input));
  node.Need(
      datum.dims.size() == 4,
      "its input '{}' has {} axes for an example; expected an image (channels, height, width)",
      node.input(input), datum.dims.size() - 1);
  NeedNoView(node, datum);
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
  if (constant.Count() != 1 || constant.integer || constant.dims.size() > 1) return {};
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
  int& number = names_used_.try_emplace(name, 1).first->second;
  for (;;)
    if (std::string numbered = fmt::format("{}_{}", name, ++number); !list_.Has(numbered))
      return numbered;
}

void Importer::AddLayer(const Node& node, NewLayer layer, int output) {
  Table table = {{"type", layer.type}, {"name", NameFor(node, layer)}};
  List inputs;
  for (const Datum& input : layer.inputs) {
    node.Need(!input.layer.empty(), "an input of it is constant; expected the output of a layer");
    if (layer.dims.empty()) NeedNoView(node, input);
    inputs.emplace_back(input.layer);
  }
  table.emplace_back("inputs", std::move(inputs));
  table.insert(table.end(), layer.options.begin(), layer.options.end());
  const ListedLayer& listed = list_.Add(table);
  node.Need(listed.output.Count() >= 1, "it gives {} for an example", listed.output.Text());
  KeepWeights(node, listed, layer);
  std::vector<int64_t> dims = layer.dims.empty() ? Batched(listed.output) : std::move(layer.dims);
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
    return AddLayer(node, {.type = "flatten", .inputs = {from}, .dims = std::move(dims)});
  Give(node.output(), {.layer = from.layer, .dims = std::move(dims)});
}

}  // namespace yoke::onnx_file
