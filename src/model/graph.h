// Graph: the order of a model's layers; compiled for a batch size it computes losses, scores and
// gradients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/layer.h"
#include "tensor/batch.h"

namespace yoke {

/// What a model must know about the data: the input of an example and the number of outputs.
struct ModelTask {
  Edge input;
  int64_t outputs = 0;  ///< Classes, labels or target numbers.
  /// Sets of labels (sigmoid or 1/|labels| softmax) instead of one class.
  bool multi_label = false;
  bool regression = false;  ///< Numbers instead of a class.
  /// By feature: of how many categories it is the number, from 1 (0: unknown); 0: it is a number.
  /// Empty: all are numbers.
  std::vector<int64_t> categories = {};

  /// What the data has for each example: "classes", "labels" or "targets".
  const char* Kind() const { return LabelKind(regression, multi_label); }
  /// The loss of a model that names none.
  const char* UsualLoss() const {
    if (regression) return "mean_squared_error";
    return multi_label ? "sigmoid_cross_entropy" : "softmax_cross_entropy";
  }
};

/// Where a graph is divided in two.
enum class CutAt : uint8_t {
  /// At the input of the first fully connected layer in the chain that ends in the loss, all of
  /// whose parameters are dense.
  kFullyConnected,
  kHashed,  ///< At the input of the first hashed layer, above which all are hashed or losses.
};

/// The part of a graph that a plan computes: all of it, or one side of Graph::Cut.
enum class GraphPart : uint8_t {
  kWhole,
  kBody,  ///< Below the cut: its scores are the activations that cross it, plain f32.
  kHead,  ///< Above the cut: a batch's dense input holds these activations.
};

/// The edge that divides a graph.
struct GraphCut {
  int node = 0;         ///< First node of the head.
  int first_slice = 0;  ///< The head's slices are this one and all later ones: all dense, or below
                        ///< hashed layers all row-sparse.
  Shape activations;    ///< Shape of the activations that cross the cut, for one example.
};

struct CompileRequest {
  int64_t batch = 0;
  bool training = false;
  DType arithmetic = DType::kF32;
  Target target = {};         ///< Where the plan runs and has its memory.
  bool below_output = false;  ///< Stop below the product that Graph::Output describes; its input is
                              ///< then the scores [batch, inputs]. Not for training.
  /// Layers that can do so update their weights by ParamView::update times the gradient during
  /// Backward, and do not announce them.
  bool immediate = false;
  GraphPart part = GraphPart::kWhole;
  CutAt cut = CutAt::kFullyConnected;  ///< Of a part.
  /// Of a body: where its values and gradients lie, ParamLayout::First of its slices. It outlives
  /// the plan. Null: the graph's.
  const ParamLayout* layout = nullptr;
};

/// A linear layer directly below the loss: scores = input * weight^T + bias.
struct OutputProduct {
  int weight = 0;  ///< Slice [outputs, inputs].
  int bias = -1;   ///< Slice [outputs], or -1.
  int64_t inputs = 0;
  int64_t outputs = 0;
  size_t node = 0;  ///< As of LayerStates.
};

/// Called when a slice's gradient is complete, in backward order.
using GradientReady = std::function<void(int slice)>;

/// Where a plan on a device leaves a batch's mean loss.
struct LossPlace {
  double* loss = nullptr;  ///< Staging memory of the device.
  double* stop = nullptr;  ///< As in StepLossCall.
};

/// A graph compiled for one batch size, with its memory. Reused from step to step; one caller at a
/// time.
class GraphPlan {
 public:
  virtual ~GraphPlan() = default;
  /// Does what a pass over the batch needs the host for: checks labels and ids, takes the plan's
  /// memory, and finds the batch's arrays or puts their copies on the stream. Throws Error, before
  /// anything else, if they are not the model's or `batch.size` is not the compiled size. The batch
  /// stays as it is until the pass, Backward included, has returned.
  virtual void Prepare(const Batch& batch) = 0;
  /// Computes scores, and per-example losses if the batch has labels. Once after each Prepare, and
  /// for the same batch. On a device, Forward and Backward only enqueue.
  virtual void Forward(const Batch& batch, const ParamView& params) = 0;
  void PrepareAndForward(const Batch& batch, const ParamView& params) {
    Prepare(batch);
    Forward(batch, params);
  }
  /// Writes the gradients of the mean loss to params.gradients, after Forward of the same batch.
  /// Clears the row collectors first.
  virtual void Backward(const Batch& batch, const ParamView& params,
                        const GradientReady& ready) = 0;
  /// On a device, after Prepare: stands for the memory that the work of Forward and Backward uses
  /// besides their arguments'. Another one: some has moved.
  virtual std::shared_ptr<const void> Place() const = 0;
  /// After Prepare, where that work is launched again without them: does what Backward does on the
  /// host.
  virtual void Launched(const ParamView& params) = 0;
  /// Scores [batch, outputs], f32, plain: the input of the loss.
  virtual Tensor Scores() const = 0;
  /// Mean loss of the last Forward's batch; while training, it includes the losses of auxiliary
  /// heads.
  virtual double Loss() const = 0;
  /// On a device: the next Forwards leave their loss there, in the order of its stream.
  virtual void LeaveLossAt(const LossPlace& place) = 0;
  /// For a part: the gradient of the mean loss with respect to the activations at the cut, plain
  /// f32. A head's Backward writes it; a body's Backward reads it.
  virtual Tensor CutGradient() const = 0;
  /// Bytes held for activations, gradients, saved and scratch memory. Tensors that are not needed
  /// at the same time share memory.
  virtual int64_t MemoryBytes() const = 0;
  /// Bytes that they would take without sharing.
  virtual int64_t UnsharedBytes() const = 0;
  /// After a Forward with a non-finite loss: the name of the first layer with a non-finite output,
  /// or "". On a device it is looked for only now, so the batch must still be there.
  virtual std::string FirstNonFinite() = 0;
  /// Kernel names by layer, for `info`.
  virtual std::vector<std::string> Kernels() const = 0;
};

/// One layer's row in `yoke info`.
struct LayerInfo {
  std::string name;
  std::string type;                 ///< "linear", or "linear+relu" if it absorbed the next layer.
  std::vector<Fusion> absorbed;     ///< The layers that it absorbed, in order.
  std::vector<std::string> inputs;  ///< Layers, or "data".
  Shape output;
  int64_t parameters = 0;
  Cost cost;                ///< Of Graph::Info's batch.
  double forward = 0;       ///< The fraction of it that is forward's.
  std::string explanation;  ///< How its settings were chosen, or "".
};

/// The layers of a model. Owns no parameters; may be shared by threads.
class Graph {
 public:
  /// `layers` is a list of tables as in `[[model.layer]]`: `type`, optional `name` and `inputs`
  /// (names of earlier layers, or "data"; by default the preceding layer), and the layer's options.
  /// A missing loss is appended according to the task. Losses before the last one are auxiliary
  /// heads, which are computed only in training. A relu or add is fused into the layer before it if
  /// that layer can absorb it. Throws UserError with the layer's name.
  /// `rows`: how row-sparse matrices are stored (ParamLayout::StoreRowsAs).
  Graph(const List& layers, const ModelTask& task, DType rows = DType::kF32);
  ~Graph();
  Graph(Graph&&) noexcept;

  const ParamLayout& layout() const;
  const ModelTask& task() const;
  std::vector<LayerInfo> Info(int64_t batch = 1) const;
  Cost Price(int64_t batch, GraphPart part = GraphPart::kWhole,
             CutAt cut = CutAt::kFullyConnected) const;
  LossFunction Loss() const;  ///< The main loss.
  bool IsSoftmax() const { return Loss() == LossFunction(CrossEntropy::kSoftmax); }
  /// The layer below the loss, if it is a plain linear layer.
  std::optional<OutputProduct> Output() const;
  /// None if there is no such layer in the loss's chain, nothing below it is trained, or there are
  /// auxiliary heads.
  std::optional<GraphCut> Cut(CutAt at = CutAt::kFullyConnected) const;
  std::unique_ptr<GraphPlan> Compile(const CompileRequest& request) const;
  /// Makes new states for its layers, for ParamView::states.
  LayerStates MakeStates() const;
  /// The tensors of all states, named `layer.name`.
  std::vector<StateTensor> StateTensors(const LayerStates& states) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// An entry of the model zoo (src/model/models.def). Its layers follow from options and task.
struct ModelEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<List(const Options& options, const ModelTask& task)> build;
};
const std::vector<ModelEntry>& models();

/// The layers that a job's `[model]` table specifies: a zoo model by `name` with its options, an
/// ONNX `file`, or `layer` tables.
List ModelLayers(const Value& model_section, const ModelTask& task);
/// The names that a graph gives these layers: their own, or type and number ("convolution2").
std::vector<std::string> LayerNames(const List& layers);
/// The option `algorithm` of a layer's table, or null if its type has none.
const OptionSpec* AlgorithmOption(const Value& layer);
/// Throws UserError if a graph has no parameters: nothing in it can be trained.
void RequireParameters(const Graph& graph);
/// Builds the graph of these layers. Throws UserError if it has no parameters.
Graph BuildModel(const Value& model_section, const ModelTask& task, DType rows = DType::kF32);

/// Copies an ONNX file's weights to `values`, which has this `layout`. Does nothing if the model is
/// not from an ONNX file or `initialize` is set.
void CopyFileWeights(const Value& model_section, const ModelTask& task, const ParamLayout& layout,
                     float* values);
/// The options of `[model]` for a regression, of a model without a `loss` of its own.
const std::vector<OptionSpec>& regression_loss_options();
/// The options of `[model]` that only an ONNX file has.
const std::vector<OptionSpec>& file_model_options();
/// What may be better about training from a `file`, as a sentence; "" if nothing is.
std::string FileAdvice(const Value& model_section);

}  // namespace yoke
