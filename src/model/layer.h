// Layer: one layer of a model: its shapes, parameters and cost, and its computation for a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/cost.h"
#include "base/options.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/losses.h"
#include "params/store.h"
#include "tensor/active_set.h"
#include "tensor/batch.h"
#include "tensor/device.h"

namespace yoke {

/// The data on an edge of the graph, for one example.
struct Edge {
  Shape shape;  ///< Without the batch axis: {784} or {channels, height, width}.
  DType type = DType::kF32;
  Layout layout = Layout::kPlain;
  bool sparse = false;  ///< The batch's sparse rows; shape is {width}.
  int64_t active = 0;  ///< Nonzero: an active set over the shape's {width} (in training only), with
                       ///< about this many ids per example besides its labels.
};

/// A request for a layer plan.
struct PlanRequest {
  int64_t batch = 0;  ///< Examples of every call of this plan.
  Edge input;
  std::vector<Edge> others = {};   ///< The inputs after the first, for layers with several.
  DType arithmetic = DType::kF32;  ///< kBf16: activations and weights in bf16, accumulation and
                                   ///< weight gradients in f32.
  bool training = false;           ///< Backward will be called.
  bool input_gradient = false;     ///< A layer below needs the gradient of an input.
  Target target = {};              ///< Where it runs.
};

/// One parameter in a call.
struct ParamRef {
  /// As it is stored, or bf16 if the plan computes in bf16 and the slice is dense and not
  /// keep_f32.
  ConstTensor value;
  /// Written (not added to) by Backward; null when not differentiating.
  float* gradient = nullptr;
  /// The same for a row-sparse slice; Backward replaces it.
  RowGradient* rows = nullptr;
  /// The f32 value where the call may change it: a buffer, or a weight that Backward, after its
  /// last read, updates in place instead of writing the gradient. Else null.
  float* writable = nullptr;
  InPlaceUpdate update = {};  ///< Of such a weight.
};

/// A tensor of a layer's state, for checkpoints.
struct StateTensor {
  std::string name;
  DType type = DType::kI32;
  Shape shape;
  void* data = nullptr;
};

/// State that a layer keeps from step to step besides its parameters (hash tables); one for each
/// copy of the weights.
class LayerState {
 public:
  virtual ~LayerState() = default;
  /// The complete state. To restore it, copy into these tensors and call Restored.
  virtual std::vector<StateTensor> Tensors() = 0;
  virtual void Restored() {}
  /// Bytes of Tensors(), even before they are allocated.
  virtual int64_t Bytes() const = 0;
};

/// The states of a graph's layers, by node; null for stateless layers.
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

/// Passes of one plan that may be under way on a device at the same time.
inline constexpr int kMostUnderWay = 3;

/// The arguments of one call. Tensors carry the batch axis in front.
struct LayerCall {
  const Batch& batch;                 ///< In the host's memory.
  SparseRows sparse = {};             ///< The batch's sparse input, on the target's device.
  Labels labels = {};                 ///< The batch's, on the target's device.
  const int64_t* examples = nullptr;  ///< Likewise Batch::examples; null: not known.
  const int64_t* epoch = nullptr;     ///< Likewise of Batch::epoch.
  Tensor input;
  Tensor output;
  Tensor input_gradient;   ///< Written by Backward; null data if not needed.
  Tensor output_gradient;  ///< Backward may overwrite it.
  std::span<const ParamRef> params;
  std::span<const Tensor> others = {};           ///< The inputs after the first.
  std::span<const Tensor> other_gradients = {};  ///< Their gradients, like input_gradient.
  Tensor more_gradient = {};  ///< If the plan adds_gradient: added to output_gradient, and of the
                              ///< same type and layout; null data: nothing is added.
  void* saved = nullptr;      ///< Kept from Forward to Backward of the same step.
  void* scratch = nullptr;    ///< Valid during the call only; shared by all layers.
  /// If the input edge is active; Backward writes its gradient.
  ActiveSet* active_input = nullptr;
  ActiveSet* active_output = nullptr;  ///< If the output edge is active.
  LayerState* state = nullptr;         ///< The result of Layer::MakeState, or null.
};

/// A layer compiled for one batch size: its kernels and memory requirements. After the first call,
/// a call allocates less than 4 KiB at a time.
class LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  /// Throws Error for labels or ids that the layer cannot take. Called before each batch's Forward,
  /// which does not look at them.
  virtual void CheckBatch(const Batch& /*batch*/) const {}
  /// On a device, before each Forward of training: sends there what the host finds out for
  /// Backward. True: memory that Backward uses has moved.
  virtual bool Send(const Batch& /*batch*/) { return false; }
  /// After Send: what Backward leaves on the host, where its work is launched without it.
  virtual void LeaveRows(RowGradient& /*rows*/) const {}
  virtual void Forward(const LayerCall& call) = 0;
  virtual void Backward(const LayerCall& call) = 0;

  Edge output;
  bool output_is_input = false;  ///< Output and gradient use the input's memory (a plain flatten).
  /// Index of the input whose gradient may use output_gradient's memory, because it has the same
  /// type and layout; -1: none.
  int gradient_in_place = -1;
  bool adds_gradient = false;  ///< Backward accepts more_gradient, which saves a pass over memory.
  bool reads_input = true;     ///< Backward reads the inputs, so their memory is kept until then.
  bool reads_output = true;    ///< Backward reads the output.
  int64_t saved_bytes = 0;
  int64_t scratch_bytes = 0;
  std::string kernel;  ///< The chosen kernel, for `info`: "onednn brgemm", "reference".
};

/// A layer that the one before it may absorb.
enum class Fusion : uint8_t {
  kRelu,  ///< A ReLU of its output.
  kAdd,   ///< The sum of its output and another edge of the same shape, which then becomes the last
          ///< of its inputs.
};

/// The description of one layer of a model. Owns no parameters; threads may share it.
class Layer {
 public:
  virtual ~Layer() = default;
  /// The output in training, as far as it is known before planning (type and layout are not).
  virtual Edge Output() const = 0;
  virtual std::vector<ParamSpec> Params() const { return {}; }
  /// Cost of forward and backward together for `batch` examples, counting the operations of the
  /// direct algorithm.
  virtual Cost Price(int64_t batch) const = 0;
  /// The fraction of these operations and bytes that is forward's.
  virtual double ForwardPart() const { return 1.0 / 2; }
  virtual std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const = 0;
  /// Absorbs the next layer into this layer's kernels; returns false if it cannot. Throws UserError
  /// if the two contradict each other.
  virtual bool Fuse(Fusion /*what*/) { return false; }
  /// Makes its state; null for stateless layers.
  virtual std::unique_ptr<LayerState> MakeState() const { return nullptr; }
  /// Why it computes on the CPU only, or "".
  virtual std::string OnlyOnCpu() const { return ""; }
  /// A line for `info` on how its settings were chosen, or "".
  virtual std::string Explain() const { return ""; }
};

/// What a graph asks only of layers in which every output reads every input: the cut below a head,
/// the search for the best outputs, and plain descent during Backward. A layer's second base. Its
/// parameters are weight [outputs, inputs] and optionally bias
/// [outputs].
class FullyConnected {
 public:
  virtual ~FullyConnected() = default;
  /// True if in evaluation it computes exactly input * weight^T + bias of a dense input.
  virtual bool IsProduct() const = 0;
  /// A plan for training whose Backward adds to the weight (ParamRef::update) instead of writing
  /// its gradient; null if the layer has none, or if Plan's is faster.
  virtual std::unique_ptr<LayerPlan> PlanInPlace(const PlanRequest& /*request*/) const {
    return nullptr;
  }
};

/// The context in which a layer is made. Input that does not fit is refused by a UserError.
struct LayerContext {
  std::string name;  ///< Unique in the model; the first part of its parameters' names.
  Edge input;        ///< Shape and sparsity of the input (type and layout are decided later).
  std::vector<Edge> others = {};  ///< The inputs after the first.
  /// Position in the model, which is part of the key of its random draws (dropout).
  int index = 0;
};

/// Value of LayerEntry::most_inputs for no limit.
inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

/// What a loss computes from scores and labels or targets.
using LossFunction = std::variant<CrossEntropy, RegressionLoss>;

inline bool IsRegression(const LossFunction& loss) {
  return std::holds_alternative<RegressionLoss>(loss);
}

/// An entry of the list of layers (src/model/layers.def).
struct LayerEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Besides `type`, `name` and `inputs`.
  std::function<std::unique_ptr<Layer>(const Options& options, const LayerContext& context)> make;
  size_t least_inputs = 1;  ///< Number of inputs, checked by the graph.
  size_t most_inputs = 1;
  std::optional<Fusion> fusion = {};      ///< How the layer before may absorb it; none: it cannot.
  std::optional<LossFunction> loss = {};  ///< Of a loss: from scores to one value per example.
};

/// All layers, in the order of layers.def.
const std::vector<LayerEntry>& layers();

/// What a layer counts of training besides the loss, for the record of an epoch: a second base of a
/// LayerState.
class LayerCounts {
 public:
  virtual ~LayerCounts() = default;
  /// Name and value of each, since the last call; empty if nothing happened. Call it between steps.
  virtual std::vector<std::pair<std::string, double>> TakeCounts() = 0;
  /// Seconds of the layer's passes since the last TakeCounts.
  virtual double Seconds() const = 0;
};

/// What a layer's plan takes besides the memory that the graph gives it: a second base of a
/// LayerPlan, and of a GraphPlan for its layers. All numbers are estimates.
class WorkingMemory {
 public:
  virtual ~WorkingMemory() = default;
  /// Bytes of a training step that are the plan's own.
  virtual int64_t WorkingBytes() const = 0;
  /// Bytes of the row-sparse gradients that it writes, which all plans of a model share.
  virtual int64_t RowGradientBytes() const = 0;
};

}  // namespace yoke
