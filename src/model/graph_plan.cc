// GraphPlan of a chain of layers: its memory, and the order in which forward and backward run.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/convert.h"
#include "model/graph_node.h"
#include "model/low_copy.h"

namespace yoke {
namespace {

/// Turns scores into plain f32, and their gradient back; in place where they are.
class ScoresPlan : public LayerPlan {
 public:
  explicit ScoresPlan(const Edge& input) {
    output = {.shape = input.shape};
    output_is_input = input.type == DType::kF32 && input.layout == Layout::kPlain;
  }
  void Forward(const LayerCall& call) override {
    if (!output_is_input) Convert(call.input, call.output);
  }
  void Backward(const LayerCall& call) override {
    Convert(call.output_gradient, call.input_gradient);
  }
};

/// One compiled layer (or the conversion of scores) with its place in memory. The gradient of a
/// stage's output is written by the stage above, which is the next one of the list.
struct Stage {
  const GraphNode* node = nullptr;  ///< The layer; for a conversion the one it works for.
  bool converts = false;
  std::unique_ptr<LayerPlan> plan;
  Tensor output;
  Tensor gradient;  ///< Of the output; null data when nobody below wants it.
  std::vector<ParamRef> params;
  void* saved = nullptr;
  ActiveSet active = {};  ///< The output where its edge is active.
};

/// How many bytes an edge needs for a batch.
int64_t BytesOf(const Edge& edge, int64_t batch) {
  if (edge.active) return 0;
  return edge.shape.Count() * batch * SizeOf(edge.type);
}

Tensor TensorOf(const Edge& edge, int64_t batch, void* data) {
  return {
      .shape = edge.shape.Batched(batch), .type = edge.type, .data = data, .layout = edge.layout};
}

bool HasLabels(const Batch& batch) {
  return !batch.classes.empty() ||
         static_cast<int64_t>(batch.labels.offsets.size()) == batch.size + 1;
}

bool AllFinite(const Tensor& tensor) {
  const int64_t count = tensor.Count();
  if (tensor.type == DType::kBf16)
    return std::all_of(tensor.As<Bf16>(), tensor.As<Bf16>() + count,
                       [](Bf16 x) { return std::isfinite(static_cast<float>(x)); });
  return std::all_of(tensor.As<float>(), tensor.As<float>() + count,
                     [](float x) { return std::isfinite(x); });
}

class ChainPlan : public GraphPlan {
 public:
  ChainPlan(const ParamLayout& layout, const Edge& input, const CompileRequest& request)
      : layout_(layout), input_(input), request_(request) {}

  /// Compiles the next node of the chain; `scores`: the loss stands above it.
  void Add(const GraphNode& node, bool scores) {
    Check(node.input == nodes_++ - 1, "this plan runs chains");
    const Edge* edge = stages_.empty() ? &input_ : &stages_.back().plan->output;
    if (node.layer->IsLoss() && edge->type != DType::kF32) {
      AddStage(node, std::make_unique<ScoresPlan>(*edge)).converts = true;
      edge = &stages_.back().plan->output;
    }
    std::unique_ptr<LayerPlan> plan = node.layer->Plan({.batch = request_.batch,
                                                        .input = *edge,
                                                        .arithmetic = request_.arithmetic,
                                                        .training = request_.training,
                                                        .input_gradient = trained_,
                                                        .reference = request_.reference,
                                                        .scores = scores});
    AddParams(AddStage(node, std::move(plan)));
  }

  /// Ends the chain below `output`: its input, in plain f32, are the scores.
  void EndBelow(const GraphNode& output) {
    const Edge edge = stages_.empty() ? input_ : stages_.back().plan->output;
    AddStage(output, std::make_unique<ScoresPlan>(edge)).converts = true;
  }

  /// Gives every stage its memory, once all are there.
  void PlaceMemory() {
    int64_t scratch = 0;
    for (Stage& stage : stages_) {
      stage.saved = request_.training ? Take(stage.plan->saved_bytes) : nullptr;
      scratch = std::max(scratch, stage.plan->scratch_bytes);
    }
    scratch_ = Take(scratch);
    PlaceOutputs();
    if (request_.training) PlaceGradients();
  }

  void Forward(const Batch& batch, const ParamView& params) override {
    Check(batch.size == request_.batch, "the plan was compiled for another batch size");
    view_ = request_.arithmetic == DType::kBf16 && !params.low ? low_.Refresh(params) : params;
    scored_only_ = request_.below_output || !HasLabels(batch);
    const size_t count = scored_only_ ? ScoresAt() + 1 : stages_.size();
    for (size_t i = 0; i < count; ++i) {
      Bind(stages_[i], view_);
      stages_[i].plan->Forward(Call(i, batch));
    }
  }

  void Backward(const Batch& batch, const ParamView& params, const GradientReady& ready) override {
    Check(request_.training && !scored_only_ && params.gradients,
          "backward needs a training plan, labels and a place for gradients");
    view_.gradients = params.gradients;
    for (size_t i = stages_.size(); i-- > first_trained_;) {
      Stage& stage = stages_[i];
      Bind(stage, view_);
      stage.plan->Backward(Call(i, batch));
      if (!ready || stage.converts) continue;
      for (int slice : stage.node->slices) ready(slice);
    }
  }

  Tensor Scores() const override { return stages_[ScoresAt()].output; }

  double Loss() const override {
    if (scored_only_) return std::numeric_limits<double>::quiet_NaN();
    const float* losses = stages_.back().output.As<float>();
    double sum = 0;
    for (int64_t i = 0; i < request_.batch; ++i) sum += losses[i];
    return sum / static_cast<double>(request_.batch);
  }

  int64_t MemoryBytes() const override { return bytes_; }

  std::string FirstNonFinite() const override {
    // Without training the outputs below the scores share memory, and only the scores are still
    // there.
    for (size_t i = request_.training ? 0 : ScoresAt(); i <= ScoresAt(); ++i)
      if (!InPlace(i) && !IsFinite(stages_[i])) return stages_[i].node->name;
    return "";
  }

  std::vector<std::string> Kernels() const override {
    std::vector<std::string> kernels;
    for (const Stage& stage : stages_)
      if (!stage.converts) kernels.push_back(stage.plan->kernel);
    return kernels;
  }

 private:
  static bool IsFinite(const Stage& stage) {
    if (!stage.plan->output.active) return AllFinite(stage.output);
    return std::all_of(stage.active.values.begin(), stage.active.values.end(),
                       [](float x) { return std::isfinite(x); });
  }

  Stage& AddStage(const GraphNode& node, std::unique_ptr<LayerPlan> plan) {
    Stage& stage = stages_.emplace_back();
    stage.node = &node;
    stage.plan = std::move(plan);
    return stage;
  }

  void AddParams(Stage& stage) {
    for (int index : stage.node->slices) {
      const Slice& slice = layout_.slices()[index];
      const bool low = request_.arithmetic == DType::kBf16 && slice.kind == SliceKind::kDense;
      stage.params.push_back(
          {.value = {.shape = slice.shape, .type = low ? DType::kBf16 : DType::kF32}});
      if (slice.kind == SliceKind::kBuffer || trained_) continue;
      trained_ = true;
      first_trained_ = stages_.size() - 1;
    }
  }

  /// Aligned, zeroed memory that lives as long as the plan; null for 0 bytes.
  void* Take(int64_t bytes) {
    bytes_ += bytes;
    return memory_.emplace_back(Cpu(), bytes).data();
  }

  /// Two pieces of memory, each large enough for the output of any of the stages [begin, end).
  std::array<void*, 2> TakeTurns(size_t begin, size_t end) {
    int64_t largest = 0;
    for (size_t i = begin; i < end; ++i)
      largest = std::max(largest, BytesOf(stages_[i].plan->output, request_.batch));
    return {Take(largest), Take(largest)};
  }

  /// In training every output is kept for the backward pass; else two pieces of memory take turns,
  /// and only scores and losses have their own. What an in-place first layer gives lies in the
  /// batch: each call says where.
  void PlaceOutputs() {
    std::array<void*, 2> turns = {};
    if (!request_.training) turns = TakeTurns(0, ScoresAt());
    int turn = 0;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const Edge& edge = stages_[i].plan->output;
      const bool own = request_.training || i >= ScoresAt();
      void* data = nullptr;
      if (InPlace(i))
        data = i > 0 ? stages_[i - 1].output.data : nullptr;
      else
        data = own ? Take(BytesOf(edge, request_.batch)) : turns[turn = 1 - turn];
      stages_[i].output = TensorOf(edge, request_.batch, data);
    }
  }

  /// Gradients live only from one layer to the next: two pieces of memory take turns.
  void PlaceGradients() {
    const std::array<void*, 2> turns = TakeTurns(first_trained_, stages_.size() - 1);
    int turn = 0;
    for (size_t i = stages_.size() - 1; i-- > first_trained_;) {
      if (!InPlace(i + 1)) turn = 1 - turn;
      stages_[i].gradient = TensorOf(stages_[i].plan->output, request_.batch, turns[turn]);
    }
  }

  size_t ScoresAt() const { return stages_.size() - (request_.below_output ? 1 : 2); }

  bool InPlace(size_t i) const { return stages_[i].plan->output_is_input; }

  void Bind(Stage& stage, const ParamView& params) const {
    for (size_t p = 0; p < stage.params.size(); ++p) {
      const int index = stage.node->slices[p];
      const Slice& slice = layout_.slices()[index];
      ParamRef& ref = stage.params[p];
      if (ref.value.type == DType::kBf16)
        ref.value.data = const_cast<Bf16*>(params.low) + slice.offset;
      else
        ref.value.data = params.values + slice.offset;
      if (!params.gradients) continue;
      if (slice.kind == SliceKind::kDense)
        ref.gradient = params.gradients->dense() + slice.offset;
      else if (slice.kind == SliceKind::kRowSparse)
        ref.rows = &params.gradients->rows(index);
    }
  }

  LayerCall Call(size_t i, const Batch& batch) {
    Stage& stage = stages_[i];
    LayerCall call{.batch = batch,
                   .input = i > 0 ? stages_[i - 1].output : InputOf(batch),
                   .output = stage.output,
                   .input_gradient = i > 0 ? stages_[i - 1].gradient : Tensor{},
                   .output_gradient = stage.gradient,
                   .params = stage.params,
                   .saved = stage.saved,
                   .scratch = scratch_,
                   .active_input = i > 0 && ActiveAt(i - 1) ? &stages_[i - 1].active : nullptr,
                   .active_output = ActiveAt(i) ? &stage.active : nullptr,
                   .state = StateOf(stage)};
    if (InPlace(i)) call.output.data = stage.output.data = call.input.data;
    return call;
  }

  bool ActiveAt(size_t i) const { return stages_[i].plan->output.active; }

  LayerState* StateOf(const Stage& stage) const {
    return view_.states ? view_.states->of(stage.node->index) : nullptr;
  }

  Tensor InputOf(const Batch& batch) const {
    return TensorOf(input_, request_.batch, input_.sparse ? nullptr : batch.dense.data);
  }

  const ParamLayout& layout_;
  Edge input_;
  CompileRequest request_;
  std::vector<Stage> stages_;
  int nodes_ = 0;
  bool trained_ = false;  ///< A parameter lies in the stages so far: whoever is above must give an
                          ///< input gradient.
  size_t first_trained_ = 0;  ///< The lowest stage with a parameter: backward ends there.
  std::vector<Buffer> memory_;
  int64_t bytes_ = 0;
  void* scratch_ = nullptr;
  LowCopy low_;
  ParamView view_;
  bool scored_only_ = true;  ///< The last Forward had no labels.
};

}  // namespace

std::unique_ptr<GraphPlan> CompileGraph(const std::vector<GraphNode>& nodes,
                                        const ParamLayout& layout, const Edge& input,
                                        const CompileRequest& request) {
  auto plan = std::make_unique<ChainPlan>(layout, input, request);
  const size_t count = nodes.size() - (request.below_output ? 2 : 0);
  for (size_t i = 0; i < count; ++i)
    plan->Add(nodes[i], i + 1 < nodes.size() && nodes[i + 1].layer->IsLoss());
  if (request.below_output) plan->EndBelow(nodes[count]);
  plan->PlaceMemory();
  return plan;
}

}  // namespace yoke
