// Importer: visits the nodes of an ONNX file and collects layers, weights and constants. The
// operators' files define the result of each node type.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/onnx/file.h"
#include "model/onnx/layer_list.h"
#include "model/onnx/onnx.h"

namespace yoke::onnx_file {

/// The value of a name in the file: the output of a layer, or a constant.
struct Datum {
  std::string layer = {};          ///< A layer or "data"; "": a constant.
  std::vector<int64_t> dims = {};  ///< Dimensions in ONNX, kBatch first. Behind a Reshape or the
                                   ///< like they differ from the layer's own shape: a view.
  const onnx::TensorProto* tensor = nullptr;      ///< A constant that has not been read yet, or
  std::shared_ptr<const Constant> constant = {};  ///< its contents.
};

/// The dimensions of an example: "2x12".
std::string TextOf(const std::vector<int64_t>& dims);

/// The input and output of a file's graph.
struct Ends {
  std::string input, output;
  Shape shape;              ///< Of the input, for one example.
  int64_t fixed_batch = 0;  ///< The batch size if the file fixes one.
};
/// Throws UserError unless there is exactly one input and one output.
Ends ReadEnds(const OnnxFile& file);

/// A layer made from a node.
struct NewLayer {
  std::string type;
  Table options = {};
  std::vector<Datum> inputs;
  std::vector<std::pair<std::string, std::vector<float>>> weights = {};  ///< By parameter.
  std::string named_after = {};  ///< A tensor such as "layer1.conv.weight"; "": the node.
  /// The output's dimensions, from an operator that takes views. Empty: those of the layer, and a
  /// view among the inputs is refused.
  std::vector<int64_t> dims = {};
};

/// Names of the constants that show over which axis a pool takes its means.
struct PoolAxes {
  int64_t size = 0;     ///< The neighbours of each mean.
  std::string view;     ///< The dimensions of the pool's input before it is padded.
  std::string pads;     ///< Of the Pad before the pool.
  std::string restore;  ///< The dimensions behind the pool, or
  std::string squeeze;  ///< the axes that are left out there.
};

/// A layer expressed by several nodes together.
struct Pattern {
  std::string type;
  Table options;
  std::string input;  ///< Name of the pattern's input; the nodes in between are skipped.
  std::optional<PoolAxes> axes = {};  ///< Of local_response_norm.
};

class Importer {
 public:
  explicit Importer(const OnnxFile& file);
  OnnxModel Read();

  // Queries for operators.
  bool IsConstant(const std::string& name) const;
  /// The value of a name. Throws UserError with the node if the name is unknown.
  const Datum& Of(const Node& node, const std::string& name) const;
  /// The contents of an input that must be constant.
  Constant Values(const Node& node, int input) const;
  std::vector<int64_t> Integers(const Node& node, int input) const;
  /// The same for dimensions, which may hold kBatch.
  std::vector<int64_t> Lengths(const Node& node, int input) const;
  /// A setting that is an input from some opset on and was an attribute before: integers, empty if
  /// omitted, or one number.
  std::vector<int64_t> Integers(const Node& node, int input, const char* attribute) const;
  double Number(const Node& node, int input, const char* attribute, double fallback) const;
  /// Whether the dimensions are not those of the layer.
  bool IsView(const Datum& datum) const;
  /// An input computed by a layer, as an image [channels, height, width] or as a row.
  const Datum& Image(const Node& node, int input) const;
  const Datum& Row(const Node& node, int input) const;
  Shape ShapeOf(const Datum& datum) const { return list_.ShapeOf(datum.layer); }
  /// The nodes that read a name, but for those that the output does not need.
  const std::vector<int>& Readers(const std::string& name) const;
  std::optional<Node> OnlyReader(const std::string& name) const;
  /// The node that produces a name.
  std::optional<Node> GiverOf(const std::string& name) const;
  /// The value of a scalar constant: the only element of an initializer or a Constant, of one axis
  /// at most (more could add axes to what it is joined with).
  std::optional<double> Number(const std::string& name) const;
  const Ends& ends() const { return ends_; }
  int64_t opset() const { return file_.opset(); }

  // Output of operators.
  void Give(const std::string& name, Datum datum) { data_[name] = std::move(datum); }
  void GiveConstant(const Node& node, Constant constant);
  /// Records that the scores are those before a softmax, which the loss contains.
  void OmitSoftmax() { softmax_omitted_ = true; }
  /// Adds a layer whose output is that of the node, with a leading kBatch axis.
  void AddLayer(const Node& node, NewLayer layer, int output = 0);
  /// The same data with other dimensions; a row stays a row.
  void View(const Node& node, const Datum& from, std::vector<int64_t> dims);

 private:
  void FindGivers();
  void FindLive();
  void FindReaders();
  void CheckOperators() const;
  bool IsGiven(const onnx::NodeProto& node) const;
  void Visit(const Node& node, int index);
  void AddPattern(const Node& node, const Pattern& pattern);
  void NeedNoView(const Node& node, const Datum& datum) const;
  std::string NameFor(const Node& node, const NewLayer& layer);
  void KeepWeights(const Node& node, const ListedLayer& listed, NewLayer& layer);
  OnnxModel Finish();

  const OnnxFile& file_;
  Ends ends_;
  LayerList list_;
  std::map<std::string, int> names_used_;  // how many layers share a name so far
  List tables_;
  std::vector<OnnxWeight> weights_;
  std::map<std::string, Datum> data_;
  std::map<std::string, int> givers_;  // name -> node
  std::map<std::string, std::vector<int>> readers_;
  std::map<int, Pattern> patterns_;  // by the node that produces their output
  std::vector<bool> live_;
  bool softmax_omitted_ = false;
};

/// The function that imports a node type.
using Operator = void (*)(Importer& importer, const Node& node);
using Operators = std::map<std::string, Operator>;
Operators LayerOperators();     ///< Nodes that become layers.
Operators ConstantOperators();  ///< Nodes that compute constants, including shapes.
Operators ViewOperators();      ///< Nodes that only change dimensions, or are skipped.

/// Evaluates nodes on constants: Add, Sub, Mul, Div, Concat.
void ComputeConstant(Importer& importer, const Node& node);
/// Slice of a layer's output: every n-th pixel, or a range of channels.
void SliceLayer(Importer& importer, const Node& node);
/// If a Transpose begins a normalization over channels, imports all nodes up to the closing
/// Transpose; otherwise returns false.
bool NormalizeChannels(Importer& importer, const Node& transpose);
/// Transpose of a layer's output: the middle of a channel shuffle, or a normalization over
/// channels.
void TransposeLayer(Importer& importer, const Node& node);

/// The exact GELU as written before opset 20, and the tanh approximation.
std::optional<Pattern> FindGelu(const Importer& importer, const Node& product);
/// The pattern whose output a node produces.
std::optional<Pattern> FindPattern(const Importer& importer, const Node& node);
/// Throws UserError unless the pool of a local_response_norm takes its means over `size` channels
/// of the image.
void CheckPoolAxes(const Importer& importer, const Node& node, const Pattern& pattern);

}  // namespace yoke::onnx_file
