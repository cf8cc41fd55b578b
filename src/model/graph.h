// Graph: the order of a model's layers; compiled for a batch size it computes losses, scores and
// gradients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/layer.h"

namespace yoke {

/// What a model must know of the data: what comes in, and how many outputs are wanted.
struct ModelTask {
  Edge input;
  int64_t outputs = 0;  ///< Classes or labels.
  bool multi_label =
      false;  ///< Sets of labels (sigmoid or 1/|labels| softmax) instead of one class.
};

/// What of a graph a plan computes: all of it, or one side of Graph::Cut.
enum class GraphPart : uint8_t {
  kWhole,
  kBody,  ///< Below the cut: its scores are the activations that cross it, plain f32.
  kHead,  ///< Above: a batch's dense input are such activations.
};

/// The edge at which a graph falls into two parts: into the first fully connected layer of the
/// chain that ends in the loss.
struct GraphCut {
  int node = 0;         ///< The head's first.
  int first_slice = 0;  ///< The head's slices are this one and all behind it, dense each.
  Shape activations;    ///< What crosses it, for one example.
};

struct CompileRequest {
  int64_t batch = 0;
  bool training = false;
  DType arithmetic = DType::kF32;
  bool reference = false;
  bool below_output = false;  ///< Stop below the product that Graph::Output describes, whose input
                              ///< are then the scores [batch, inputs]; not for training.
  bool immediate = false;     ///< Layers that can move their weights by ParamView::immediate_rate
                              ///< times the gradient on the spot, and do not announce them.
  GraphPart part = GraphPart::kWhole;
};

/// A product as the last layer below the loss: scores = input * weight^T + bias.
struct OutputProduct {
  int weight = 0;  ///< Slice [outputs, inputs].
  int bias = -1;   ///< Slice [outputs], or -1.
  int64_t inputs = 0;
  int64_t outputs = 0;
};

/// Called when a slice's gradient is complete (in the order of the backward pass).
using GradientReady = std::function<void(int slice)>;

/// A graph compiled for one batch size with the memory it needs: one caller at a time. Reused from
/// step to step.
class GraphPlan {
 public:
  virtual ~GraphPlan() = default;
  /// Computes scores, and per-example losses when the batch has labels. `batch.size` must be the
  /// compiled size.
  virtual void Forward(const Batch& batch, const ParamView& params) = 0;
  /// After Forward of the same batch: gradients of the mean loss are written to params.gradients.
  /// Clears row collectors first.
  virtual void Backward(const Batch& batch, const ParamView& params,
                        const GradientReady& ready) = 0;
  /// Scores [batch, outputs], f32, plain: the input of the loss.
  virtual Tensor Scores() const = 0;
  /// Mean over the batch of the last Forward's losses; while training, those of auxiliary heads are
  /// added to the main one.
  virtual double Loss() const = 0;
  /// Of a part: the gradient of the mean loss by what crosses the cut, plain f32. A head's Backward
  /// writes it, a body's reads it.
  virtual Tensor CutGradient() const = 0;
  /// Bytes of activations, gradients, saved and scratch memory held: what is not needed at the same
  /// time lies in the same place.
  virtual int64_t MemoryBytes() const = 0;
  /// What the same would take side by side.
  virtual int64_t UnsharedBytes() const = 0;
  /// After a Forward whose loss is not finite: name of the first layer whose output is not, else
  /// "".
  virtual std::string FirstNonFinite() const = 0;
  /// Kernel names by layer, for `info`.
  virtual std::vector<std::string> Kernels() const = 0;
};

/// One layer's row in `yoke info`.
struct LayerInfo {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;  ///< Layers, or "data".
  Shape output;
  int64_t parameters = 0;
  Cost cost;                ///< For one example.
  std::string explanation;  ///< How its settings came about, or "".
};

/// The layers of a model. Owns no parameters; may be shared by threads.
class Graph {
 public:
  /// `layers`: a list of tables as in `[[model.layer]]`: `type`, optional `name` and `inputs`
  /// (names of layers before it, or "data"; the layer above unless given), the layer's options. A
  /// missing loss is appended from the task; losses before the last are auxiliary heads, which only
  /// training computes. A relu or add after a layer that can absorb it is fused. Throws UserError
  /// naming the layer.
  Graph(const List& layers, const ModelTask& task);
  ~Graph();
  Graph(Graph&&) noexcept;

  const ParamLayout& layout() const;
  const ModelTask& task() const;
  std::vector<LayerInfo> Info() const;
  Cost Price(int64_t batch, GraphPart part = GraphPart::kWhole) const;
  /// The layer below the loss where it is a product and nothing else.
  std::optional<OutputProduct> Output() const;
  /// None where no fully connected layer lies in the loss's chain, nothing below it is trained, or
  /// there are auxiliary heads.
  std::optional<GraphCut> Cut() const;
  std::unique_ptr<GraphPlan> Compile(const CompileRequest& request) const;
  /// What its layers keep from step to step, new: for ParamView::states.
  LayerStates MakeStates() const;
  /// `layer.name` for each of a state's tensors.
  std::vector<StateTensor> StateTensors(const LayerStates& states) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// An entry of the zoo (src/model/models.def): its layers follow from options and task.
struct ModelEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;
  List (*build)(const Options& options, const ModelTask& task);
};
const std::vector<ModelEntry>& models();

/// The layers that a job's `[model]` table asks for: `name` of the zoo with its options, those of
/// the ONNX `file`, or its own `layer` tables.
List ModelLayers(const Value& model_section, const ModelTask& task);
/// The names that a graph gives to such layers: their own, or type and number ("convolution2").
std::vector<std::string> LayerNames(const List& layers);
/// Builds the graph of these layers.
Graph BuildModel(const Value& model_section, const ModelTask& task);

/// Where the model comes from an ONNX file and `initialize` is not set: copies the file's weights
/// to `values`, which `layout` describes.
void CopyFileWeights(const Value& model_section, const ModelTask& task, const ParamLayout& layout,
                     float* values);

}  // namespace yoke
