// Exporter: writes a list of layers as ONNX nodes and tensors. The writers' files define the nodes
// of each layer type.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/onnx/layer_list.h"
#include "model/onnx/onnx.h"

namespace yoke::onnx_file {

void Set(onnx::NodeProto& node, const char* name, int64_t value);
void Set(onnx::NodeProto& node, const char* name, double value);
void Set(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values);

class Exporter {
 public:
  explicit Exporter(const OnnxExport& from);
  /// The file's bytes.
  std::string Write();

  // Queries for writers.
  /// The name of a layer's (or the data's) output tensor. Layer names contain no dot.
  std::string TensorOf(const std::string& layer) const;
  /// The name of a tensor inside a layer; its dot distinguishes it from layer outputs.
  std::string PartOf(const ListedLayer& layer, const std::string& part) const;
  /// The shape of a layer's input for one example.
  Shape InputShape(const ListedLayer& layer, int input = 0) const;

  // Output of writers.
  /// Adds a node of a layer. If a layer needs several nodes, all except one have a `part` in their
  /// names, so that the importer recognizes them.
  onnx::NodeProto& AddNode(const ListedLayer& layer, const char* type,
                           const std::vector<std::string>& inputs, const std::string& part = "");
  /// The layer's inputs followed by its parameters, which are added as tensors.
  std::vector<std::string> InputsOf(const ListedLayer& layer);
  void AddTensor(const std::string& name, const Shape& shape, const float* values);
  /// Adds a constant tensor and returns its name.
  std::string AddNumber(const ListedLayer& layer, const char* what, double number);
  std::string AddInts(const ListedLayer& layer, const char* what,
                      const std::vector<int64_t>& values);

 private:
  std::string ScoresLayer() const;
  void FindLive();
  void Describe();
  void DescribeScores();
  std::string LossName() const;
  void AddInputNodes();
  void AddOutputNodes();
  /// A node outside the layers, and a tensor of numbers by channel.
  void AddEndNode(const char* type, const std::vector<std::string>& inputs,
                  const std::string& output);
  std::string AddChannels(const char* name, const std::vector<double>& numbers);
  void AddMetadata(const std::string& key, const std::string& value);

  const OnnxExport& from_;
  LayerList list_;
  std::string scores_;
  std::set<std::string> live_;
  onnx::ModelProto model_;
};

/// Writes one layer.
using Writer = void (*)(Exporter& exporter, const ListedLayer& layer);
using Writers = std::map<std::string, Writer>;
Writers LayerWriters();   ///< Products, activations, joins, normalization.
Writers WindowWriters();  ///< Layers with sliding windows, and layers that crop images.

}  // namespace yoke::onnx_file
