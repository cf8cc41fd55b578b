// Exporter: writes a list of layers as nodes and tensors of ONNX; the writers' files say what each
// kind of layer becomes.
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

  // What writers ask.
  /// The tensor that a layer, or the data, gives. No layer's name holds a dot.
  std::string TensorOf(const std::string& layer) const;
  /// The tensor of a part of a layer: the dot keeps it apart from those of all layers.
  std::string PartOf(const ListedLayer& layer, const std::string& part) const;
  /// The shape of a layer's input for one example.
  Shape InputShape(const ListedLayer& layer, int input = 0) const;

  // What writers give.
  /// A node of a layer. Where it takes several, all but one have a `part` to their names, so that
  /// each is read again as what it was written as.
  onnx::NodeProto& AddNode(const ListedLayer& layer, const char* type,
                           const std::vector<std::string>& inputs, const std::string& part = "");
  /// The layer's inputs, and behind them its parameters, which become tensors.
  std::vector<std::string> InputsOf(const ListedLayer& layer);
  void AddTensor(const std::string& name, const Shape& shape, const float* numbers);
  /// Numbers as a tensor of their own; its name.
  std::string AddNumber(const ListedLayer& layer, const char* what, double number);
  std::string AddInts(const ListedLayer& layer, const char* what,
                      const std::vector<int64_t>& numbers);

 private:
  std::string ScoresLayer() const;
  void FindLive();
  void Describe();

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
Writers WindowWriters();  ///< Those whose window moves over an image, and what cuts images.

}  // namespace yoke::onnx_file
