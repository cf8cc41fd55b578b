// WriteOnnx: writes each layer as nodes that compute the same, with its own weights; fused layers
// are written as their parts.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/version.h"
#include "model/onnx/exporter.h"

namespace yoke {
namespace onnx_file {
namespace {

constexpr int64_t kOpset = 17;
constexpr int64_t kIrVersion = 8;  // goes with opset 17
constexpr const char* kInput = "input";
constexpr const char* kScores = "scores";
constexpr const char* kNormalized = "input.normalized";
constexpr const char* kPredictions = "predictions";

void AddEnd(onnx::ValueInfoProto& end, const char* name, const Shape& shape) {
  end.set_name(name);
  auto* tensor = end.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim()->set_dim_param("N");
  for (const int64_t axis : shape.axes()) tensor->mutable_shape()->add_dim()->set_dim_value(axis);
}

Writer FindWriter(const ListedLayer& layer) {
  static const Writers all = [] {
    Writers merged = LayerWriters();
    merged.merge(WindowWriters());
    return merged;
  }();
  const auto writer = all.find(layer.type);
  Require(writer != all.end(), "layer '{}' ({}) has no counterpart in ONNX", layer.name,
          layer.type);
  return writer->second;
}

}  // namespace

void Set(onnx::NodeProto& node, const char* name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void Set(onnx::NodeProto& node, const char* name, double value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(static_cast<float>(value));
}

void Set(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute->add_ints(value);
}

Exporter::Exporter(const OnnxExport& from) : from_(from), list_(from.task.input) {
  for (const Value& table : from.layers) list_.Add(table);
  scores_ = ScoresLayer();
  FindLive();
}

std::string Exporter::Write() {
  Describe();
  if (from_.complete) AddInputNodes();
  for (const ListedLayer& layer : list_.layers())
    if (live_.contains(layer.name)) FindWriter(layer)(*this, layer);
  if (from_.complete) AddOutputNodes();
  std::string bytes;
  Check(model_.SerializeToString(&bytes), "an ONNX message could not be written");
  return bytes;
}

/// The input of the last loss, or the last layer.
std::string Exporter::ScoresLayer() const {
  const ListedLayer& last = list_.layers().back();
  return last.loss ? last.inputs[0] : last.name;
}

void Exporter::FindLive() {
  live_.insert(scores_);
  for (size_t i = list_.layers().size(); i-- > 0;) {
    const ListedLayer& layer = list_.layers()[i];
    if (live_.contains(layer.name)) live_.insert(layer.inputs.begin(), layer.inputs.end());
  }
}

void Exporter::Describe() {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("yoke");
  model_.set_producer_version(std::string(Version()));
  auto* opset = model_.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
  for (const auto& [key, value] : from_.metadata) AddMetadata(key, value);
  DescribeScores();
  onnx::GraphProto& graph = *model_.mutable_graph();
  graph.set_name("model");
  AddEnd(*graph.add_input(), kInput, from_.task.input.shape);
  AddEnd(*graph.add_output(), from_.complete ? kPredictions : kScores, list_.ShapeOf(scores_));
}

/// What the scores are.
static std::string ScoresText(const ModelTask& task, const std::string& loss) {
  if (task.regression) return "one a target, normalized: * target_deviation + target_mean";
  return fmt::format("one a {}; {} gives probabilities", task.multi_label ? "label" : "class",
                     loss == "softmax_cross_entropy" ? "softmax" : "sigmoid");
}

/// The loss, what it makes of the scores, and the hashed layer, which is written as a dense one.
void Exporter::DescribeScores() {
  const std::string loss = LossName();
  if (from_.complete) AddMetadata("complete", "values to probabilities or predictions");
  AddMetadata("scores", ScoresText(from_.task, loss));
  AddMetadata("loss", loss);
  if (list_.Has(scores_) && list_.Find(scores_).type == "lsh_linear")
    AddMetadata("output_layer", "lsh_linear");
}

std::string Exporter::LossName() const {
  const ListedLayer& last = list_.layers().back();
  return last.loss ? last.type : from_.task.UsualLoss();
}

/// (value - mean / scale) * (scale / deviation), which loses no digits of large means.
void Exporter::AddInputNodes() {
  const OnnxSurroundings& by = *from_.complete;
  const size_t channels = std::max({by.mean.size(), by.deviation.size(), size_t{1}});
  std::vector<double> mean(channels), factor(channels, by.scale);
  for (size_t c = 0; c < channels; ++c) {
    const auto of_channel = [c](const std::vector<double>& values) {
      return values[values.size() == 1 ? 0 : c];
    };
    if (!by.mean.empty()) mean[c] = of_channel(by.mean) / by.scale;
    if (!by.deviation.empty()) factor[c] = by.scale / of_channel(by.deviation);
  }
  AddEndNode("Sub", {kInput, AddChannels("input.mean", mean)}, "input.centred");
  AddEndNode("Mul", {"input.centred", AddChannels("input.factor", factor)}, kNormalized);
}

void Exporter::AddOutputNodes() {
  const OnnxSurroundings& by = *from_.complete;
  if (!from_.task.regression) {
    const bool softmax = LossName() == "softmax_cross_entropy";
    return AddEndNode(softmax ? "Softmax" : "Sigmoid", {kScores}, kPredictions);
  }
  const auto add = [&](const char* name, const std::vector<double>& numbers) {
    const std::vector<float> floats(numbers.begin(), numbers.end());
    AddTensor(name, Shape{std::ssize(floats)}, floats.data());
    return std::string(name);
  };
  AddEndNode("Mul", {kScores, add("target.deviation", by.target_deviation)}, "scores.scaled");
  AddEndNode("Add", {"scores.scaled", add("target.mean", by.target_mean)}, kPredictions);
}

void Exporter::AddEndNode(const char* type, const std::vector<std::string>& inputs,
                          const std::string& output) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

std::string Exporter::AddChannels(const char* name, const std::vector<double>& numbers) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  std::vector<int64_t> axes(from_.task.input.shape.rank(), 1);
  axes[0] = std::ssize(floats);
  AddTensor(name, Shape(std::move(axes)), floats.data());
  return name;
}

void Exporter::AddMetadata(const std::string& key, const std::string& value) {
  auto* entry = model_.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

std::string Exporter::TensorOf(const std::string& layer) const {
  if (layer == kDataName) return from_.complete ? kNormalized : kInput;
  return layer == scores_ ? kScores : layer + ".output";
}

std::string Exporter::PartOf(const ListedLayer& layer, const std::string& part) const {
  return TensorOf(layer.name + "." + part);
}

Shape Exporter::InputShape(const ListedLayer& layer, int input) const {
  return list_.ShapeOf(layer.inputs[static_cast<size_t>(input)]);
}

onnx::NodeProto& Exporter::AddNode(const ListedLayer& layer, const char* type,
                                   const std::vector<std::string>& inputs,
                                   const std::string& part) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(part.empty() ? layer.name : layer.name + "_" + part);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(part.empty() ? TensorOf(layer.name) : PartOf(layer, part));
  return node;
}

void Exporter::AddTensor(const std::string& name, const Shape& shape, const float* values) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t axis : shape.axes()) tensor.add_dims(axis);
  tensor.set_raw_data(values, static_cast<size_t>(shape.Count()) * sizeof(float));
}

std::string Exporter::AddNumber(const ListedLayer& layer, const char* what, double number) {
  const auto value = static_cast<float>(number);
  std::string name = layer.name + "." + what;
  AddTensor(name, Shape{}, &value);
  return name;
}

std::string Exporter::AddInts(const ListedLayer& layer, const char* what,
                              const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(layer.name + "." + what);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return tensor.name();
}

std::vector<std::string> Exporter::InputsOf(const ListedLayer& layer) {
  std::vector<std::string> inputs;
  for (const std::string& input : layer.inputs) inputs.push_back(TensorOf(input));
  for (const ParamSpec& spec : layer.params) {
    const std::string name = layer.name + "." + spec.name;
    const auto& slices = from_.layout.slices();
    const auto slice = std::ranges::find(slices, name, &Slice::name);
    Check(slice != slices.end(), "a layer's parameter is not in the layout");
    AddTensor(name, slice->shape, from_.values + slice->offset);
    inputs.push_back(name);
  }
  return inputs;
}

}  // namespace onnx_file

std::string WriteOnnx(const OnnxExport& model) {
  constexpr int64_t kMost = (int64_t{1} << 31) - (int64_t{1} << 24);
  Require(model.layout.size() * SizeOf(DType::kF32) < kMost,
          "the model's parameters take {} bytes; an ONNX file holds less than 2 GB",
          model.layout.size() * SizeOf(DType::kF32));
  return onnx_file::Exporter(model).Write();
}

}  // namespace yoke
