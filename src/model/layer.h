// Layer: what one layer of a model is (shapes, parameters, cost) and how it is computed for a
// batch.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cost.h"
#include "base/options.h"
#include "params/store.h"
#include "tensor/active_set.h"
#include "tensor/batch.h"

namespace yoke {

/// What flows along an edge of the graph, for one example.
struct Edge {
  Shape shape;  ///< Without the batch axis: {784} or {channels, height, width}.
  DType type = DType::kF32;
  Layout layout = Layout::kPlain;
  bool sparse = false;  ///< The batch's sparse rows; shape is {width}.
  int64_t active = 0;   ///< An active set of the shape's {width} (in training only): about how many
                        ///< ids an example has besides its labels. 0: not one.
};

/// What a plan is made for.
struct PlanRequest {
  int64_t batch = 0;  ///< Examples of every call of this plan.
  Edge input;
  std::vector<Edge> others = {};   ///< The inputs after the first, of a layer that takes several.
  DType arithmetic = DType::kF32;  ///< kBf16: activations and weights in bf16, accumulation and
                                   ///< weight gradients in f32.
  bool training = false;           ///< Backward will be called.
  bool input_gradient = false;     ///< Somebody below wants the gradient of an input.
  bool reference = false;          ///< Only reference kernels (tests; plain machines).
  bool scores = false;             ///< The loss stands above: true labels must be active.
  bool immediate = false;          ///< The plan may update its weight on the spot
                                   ///< (LayerPlan::updates_weight).
};

/// One parameter as a call sees it.
struct ParamRef {
  Tensor value;  ///< f32, or bf16 when the plan computes in bf16 and the slice is dense and not
                 ///< exact.
  float* gradient =
      nullptr;  ///< Written (not added to) by Backward; null when not differentiating.
  RowGradient* rows = nullptr;  ///< The same for a row-sparse slice: Backward writes it anew.
  float factor = 0;  ///< Where the plan updates_weight: Backward adds `factor` times the gradient
                     ///< to `gradient`, which are the values themselves, after it has read them.
  int writer = 0;    ///< Then, ParamView::writer.
};

/// Numbers that a layer keeps from step to step besides its parameters, for a checkpoint.
struct StateTensor {
  std::string name;
  DType type = DType::kI32;
  Shape shape;
  void* data = nullptr;
};

/// What a layer keeps from step to step (hash tables), one for each copy of the weights.
class LayerState {
 public:
  virtual ~LayerState() = default;
  /// All of it; to restore it, numbers are copied in and Restored is called.
  virtual std::vector<StateTensor> Tensors() = 0;
  virtual void Restored() {}
  /// Bytes of Tensors(), also while nobody has asked for them and they take no memory.
  virtual int64_t Bytes() const = 0;
};

/// The states of a graph's layers, by node; null where a layer has none.
class LayerStates {
 public:
  LayerStates() = default;
  explicit LayerStates(std::vector<std::unique_ptr<LayerState>> states)
      : states_(std::move(states)) {}
  LayerState* of(size_t node) const {
    return node < states_.size() ? states_[node].get() : nullptr;
  }
  size_t size() const { return states_.size(); }
  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const auto& state : states_) bytes += state ? state->Bytes() : 0;
    return bytes;
  }

 private:
  std::vector<std::unique_ptr<LayerState>> states_;
};

/// The arguments of one call. Tensors carry the batch axis in front.
struct LayerCall {
  const Batch& batch;
  Tensor input;
  Tensor output;
  Tensor input_gradient;   ///< Written by Backward; null data when nobody wants it.
  Tensor output_gradient;  ///< Backward may overwrite it.
  std::span<const ParamRef> params;
  std::span<const Tensor> others = {};           ///< The inputs after the first.
  std::span<const Tensor> other_gradients = {};  ///< Of these, each as input_gradient is.
  Tensor more_gradient = {};  ///< Where the plan adds_gradient: to be added to output_gradient, of
                              ///< which it has type and layout; null data: nothing.
  void* saved = nullptr;      ///< Kept from Forward to Backward of the same step.
  void* scratch = nullptr;    ///< Valid during the call only; shared by all layers.
  ActiveSet* active_input = nullptr;   ///< Where the edge is active; Backward writes its gradient.
  ActiveSet* active_output = nullptr;  ///< The same above.
  LayerState* state = nullptr;         ///< What Layer::MakeState gave, or null.
};

/// A layer compiled for one batch size: chosen kernels, and how much memory a call needs. Allocates
/// nothing of 4 KiB or more in a call after the first.
class LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  virtual void Forward(const LayerCall& call) = 0;
  virtual void Backward(const LayerCall& call) = 0;

  Edge output;
  bool output_is_input = false;  ///< Output (and gradient) are the input's memory: a plain flatten.
  /// The input (0: the first) whose gradient may be written where output_gradient lies, having its
  /// type and layout: then both may be the same memory. -1: none.
  int gradient_in_place = -1;
  bool updates_weight =
      false;                   ///< Backward adds to its first parameter (ParamRef::factor) in place
                               ///< of writing the gradient; only where the request is immediate.
  bool adds_gradient = false;  ///< Backward takes a more_gradient, which saves a pass over memory.
  bool reads_input = true;     ///< Backward reads the inputs: their memory is kept until then.
  bool reads_output = true;    ///< Backward reads the output.
  int64_t saved_bytes = 0;
  int64_t scratch_bytes = 0;
  std::string kernel;  ///< What was chosen, for `info`: "onednn brgemm", "reference".
};

/// The description of one layer of a model; owns no numbers and may be shared by threads.
class Layer {
 public:
  virtual ~Layer() = default;
  /// Shape for one example of what comes out. Throws UserError naming the layer when the input does
  /// not fit.
  virtual Shape OutputShape() const = 0;
  virtual std::vector<ParamSpec> Params() const { return {}; }
  /// Work of forward and backward together for `batch` examples (operations of the direct
  /// algorithm).
  virtual Cost Price(int64_t batch) const = 0;
  virtual std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const = 0;
  /// Absorbs the layer that follows into this layer's kernels; false: cannot. `type` is "relu", or
  /// "add" of this layer's output and another edge of the same shape, which then comes in as the
  /// last of this layer's inputs.
  virtual bool Fuse(std::string_view /*type*/) { return false; }
  /// In training its output is an active set: about so many ids besides labels; 0: it is not one.
  virtual int64_t Active() const { return 0; }
  /// What it keeps from step to step; null: nothing.
  virtual std::unique_ptr<LayerState> MakeState() const { return nullptr; }
  /// How its settings came about, a line for `info`; "": nothing to say.
  virtual std::string Explain() const { return ""; }
  /// Without training it is input * weight^T + bias of a dense input and nothing else; its
  /// parameters are weight [outputs, inputs] and perhaps bias [outputs].
  virtual bool IsOutputProduct() const { return false; }
  /// A loss: its output is one number an example, its input are the model's scores.
  virtual bool IsLoss() const { return false; }
};

/// What a layer is made from.
struct LayerContext {
  std::string name;  ///< Unique in the model; the first part of its parameters' names.
  Edge input;        ///< Shape and sparsity of what comes in (type and layout are decided later).
  std::vector<Edge> others = {};  ///< The inputs after the first.
  int index = 0;                  ///< Position in the model: the key of its own draws (dropout).
};

/// As LayerEntry::most_inputs: no limit.
inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

/// An entry of the list of layers (src/model/layers.def).
struct LayerEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Besides `type`, `name` and `inputs`.
  std::unique_ptr<Layer> (*make)(const Options& options, const LayerContext& context);
  size_t least_inputs = 1;  ///< How many inputs it takes: the graph sees to it.
  size_t most_inputs = 1;
  bool loss = false;  ///< Makes a loss (Layer::IsLoss).
};

/// All layers, in the order of layers.def.
const std::vector<LayerEntry>& layers();

}  // namespace yoke
