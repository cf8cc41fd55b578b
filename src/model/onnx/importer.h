// Importer: goes through the nodes of an ONNX file and collects layers, weights and constants; the
// operators' files say what each kind of node becomes.
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

/// What a name of the file stands for: the output of a layer, or a constant.
struct Datum {
  std::string layer = {};          ///< A layer or "data"; "": a constant.
  std::vector<int64_t> dims = {};  ///< Lengths of the axes as ONNX sees them, kBatch first. The
                                   ///< layer's own shape holds as many numbers.
  const onnx::TensorProto* tensor = nullptr;      ///< A constant that nobody has read yet, or
  std::shared_ptr<const Constant> constant = {};  ///< its numbers.
};

/// What goes into a file's graph and what comes out.
struct Ends {
  std::string input, output;
  Shape shape;              ///< Of the input, for one example.
  int64_t fixed_batch = 0;  ///< The batch's length where the file insists on one.
};
/// Throws UserError unless there is one of each.
Ends ReadEnds(const OnnxFile& file);

/// A layer that a node becomes.
struct NewLayer {
  std::string type;
  Table options = {};
  std::vector<Datum> inputs;
  std::vector<std::pair<std::string, std::vector<float>>> weights = {};  ///< By parameter.
  std::string named_after = {};  ///< A tensor such as "layer1.conv.weight"; "": the node.
};

/// A layer that several nodes together mean.
struct Pattern {
  std::string type;
  Table options;
  std::string input;  ///< The name that goes in; what lies between is left out.
};

class Importer {
 public:
  explicit Importer(const OnnxFile& file);
  OnnxModel Read();

  // What operators ask.
  bool IsConstant(const std::string& name) const;
  /// What a name stands for. Throws UserError naming the node where nothing does.
  const Datum& Of(const Node& node, const std::string& name) const;
  /// Numbers of an input that must be constant.
  Constant Numbers(const Node& node, int input) const;
  std::vector<int64_t> Integers(const Node& node, int input) const;
  /// An input that a layer computes: as an image [channels, height, width] or a row of numbers.
  const Datum& Image(const Node& node, int input) const;
  const Datum& Row(const Node& node, int input) const;
  Shape ShapeOf(const Datum& datum) const { return list_.ShapeOf(datum.layer); }
  /// The nodes that take a name; the only one, or null.
  const std::vector<int>& Readers(const std::string& name) const;
  std::optional<Node> OnlyReader(const std::string& name) const;
  /// The node that gives a name.
  std::optional<Node> GiverOf(const std::string& name) const;
  /// The number that a name stands for whatever goes in: an initializer's or a Constant's only one.
  std::optional<double> Number(const std::string& name) const;
  const Ends& ends() const { return ends_; }

  // What operators give.
  void Give(const std::string& name, Datum datum) { data_[name] = std::move(datum); }
  void GiveConstant(const Node& node, Constant constant);
  /// Adds a layer; its output is that of the node, with an axis of kBatch before its own.
  void AddLayer(const Node& node, NewLayer layer, int output = 0);
  /// The same numbers with other axes: a row of numbers comes out as one.
  void View(const Node& node, const Datum& from, std::vector<int64_t> dims);

 private:
  void ReadConstants();
  void FindLinks();
  void FindLive();
  void Visit(const Node& node, int index);
  std::string NameFor(const Node& node, const NewLayer& layer);
  void KeepWeights(const Node& node, const ListedLayer& listed, NewLayer& layer);
  OnnxModel Finish();

  const OnnxFile& file_;
  Ends ends_;
  LayerList list_;
  std::map<std::string, int> numbers_;  // the last one behind a name that several layers share
  List tables_;
  std::vector<OnnxWeight> weights_;
  std::map<std::string, Datum> data_;
  std::map<std::string, int> givers_;  // name -> node
  std::map<std::string, std::vector<int>> readers_;
  std::map<int, Pattern> patterns_;  // by the node that gives their output
  std::vector<bool> live_;
};

/// What a kind of node becomes.
using Operator = void (*)(Importer& importer, const Node& node);
using Operators = std::map<std::string, Operator>;
Operators LayerOperators();     ///< Those that become layers.
Operators ConstantOperators();  ///< Those that compute constants, shapes among them.
Operators ViewOperators();      ///< Those that only give data other axes, or are left out.

/// What computes on constants: Add, Sub, Mul, Div, Concat.
void ComputeConstant(Importer& importer, const Node& node);
/// Slice of a layer's output: every so manyth pixel, or some of the channels.
void SliceLayer(Importer& importer, const Node& node);
/// Where a Transpose begins the normalization of a layer's channels, adds that up to the Transpose
/// that ends it; false: it does not.
bool NormalizeChannels(Importer& importer, const Node& transpose);
/// Transpose of a layer's output: the middle of a channel shuffle, or a normalization of channels.
void TransposeLayer(Importer& importer, const Node& node);

/// The exact GELU before opset 20, and the one by a hyperbolic tangent.
std::optional<Pattern> FindGelu(const Importer& importer, const Node& product);
/// The pattern whose output a node gives.
std::optional<Pattern> FindPattern(const Importer& importer, const Node& node);

}  // namespace yoke::onnx_file
