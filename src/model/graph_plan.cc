// GraphPlan of a graph of layers: runs its stages forward and backward.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/work_label.h"
#include "kernels/join/join.h"
#include "kernels/losses.h"
#include "kernels/normalize.h"
#include "model/bf16_copy.h"
#include "model/layer.h"
#include "model/stages.h"
#include "tensor/batch_arrays.h"

namespace yoke {
namespace {

bool HasLabels(const Batch& batch) {
  return !batch.classes.empty() || !batch.targets.empty() ||
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

bool AllFinite(const ActiveSet& active) {
  return std::all_of(active.values.begin(), active.values.end(),
                     [](float x) { return std::isfinite(x); });
}

class StagedPlan : public GraphPlan, public WorkingMemory {
 public:
  StagedPlan(const ParamLayout& layout, const Edge& input, const CompileRequest& request,
             Stages stages)
      : layout_(layout),
        input_(input),
        request_(request),
        stages_(std::move(stages)),
        list_(stages_.list),
        own_arrays_(request.target),
        normalized_(request.target),
        sum_(MakeSum(/*relu=*/false, request.target)),
        bf16_(request.target) {
    size_t most = 0;
    for (const Stage& stage : list_) most = std::max(most, stage.sources.size());
    others_.resize(most);
    other_gradients_.resize(most);
    if (on_host()) return;
    loss_ = Buffer(request.target.device->staging(), sizeof(double));
    loss_place_.loss = loss_.As<double>();
    step_loss_ = MakeStepLoss(request.target);
  }

  ~StagedPlan() override {
    try {
      stream().Wait();  // its memory goes
    } catch (const std::exception& error) {
      LogWarning(error.what());
    }
  }
  StagedPlan(const StagedPlan&) = delete;
  StagedPlan& operator=(const StagedPlan&) = delete;

  void Prepare(const Batch& batch) override {
    prepared_ = nullptr;
    Check(batch.size == request_.batch, "the plan was compiled for another batch size");
    scored_only_ = request_.below_output || body() || !HasLabels(batch);
    for (size_t i = 0; i < list_.size(); ++i)
      if (!Skipped(i)) list_[i].plan->CheckBatch(batch);
    Allocate(stages_, request_.target);
    FindArrays(batch);
    if (!on_host() && request_.training) Send(batch);
    prepared_ = &batch;
  }

  void Forward(const Batch& batch, const ParamView& params) override {
    Check(std::exchange(prepared_, nullptr) == &batch, "Forward follows Prepare of the same batch");
    Check(params.values.device == request_.target.device,
          "a plan computes with values in its own device's memory");
    view_ = request_.arithmetic == DType::kBf16 && !params.bf16 ? bf16_.Refresh(params) : params;
    non_finite_.clear();
    if (arrays_->dense().type == DType::kU8) Normalize();
    for (size_t i = 0; i < list_.size(); ++i)
      if (!Skipped(i)) RunForward(i, batch);
    scores_ = OutputOf(stages_.scores);
    batch_ = &batch;
    if (!on_host() && !scored_only_) FetchLosses();
    if (on_host() && !scored_only_ && !std::isfinite(Loss())) FindNonFinite(batch);
  }

  void Backward(const Batch& batch, const ParamView& params, const GradientReady& ready) override {
    Check(
        request_.training && (body() || !scored_only_) && params.gradients && params.writable.data,
        "backward needs a training plan, labels, a place for gradients and writable values");
    view_.gradients = params.gradients;
    view_.writable = params.writable;
    view_.update = params.update;
    for (size_t i = list_.size(); i-- > 0;) {
      Stage& stage = list_[i];
      if (!stage.trained) continue;
      const WorkLabel label({stage.node->name, "backward"});
      Bind(stage);
      stage.plan->Backward(Call(i, batch));
      for (const Source& source : stage.sources)
        if (source.adds && source.gradient.data)
          AddTo(list_[source.stage].gradient, source.gradient);
      Announce(stage, ready);
    }
  }

  std::shared_ptr<const void> Place() const override { return place_; }
  void Launched(const ParamView& params) override {
    prepared_ = nullptr;
    for (Stage& stage : list_)
      for (size_t p = 0; p < stage.params.size(); ++p)
        if (const int slice = stage.node->slices[p];
            layout_.slices()[slice].kind == SliceKind::kRowSparse)
          stage.plan->LeaveRows(params.gradients->rows(slice));
  }

  Tensor Scores() const override { return scores_; }
  Tensor CutGradient() const override { return stages_.cut_gradient; }

  double Loss() const override {
    if (scored_only_) return std::numeric_limits<double>::quiet_NaN();
    if (!on_host()) {
      stream().Wait();
      return *loss_place_.loss;
    }
    double sum = 0;
    for (const int loss : stages_.losses)
      for (int64_t i = 0; i < request_.batch; ++i) sum += list_[loss].output.As<float>()[i];
    return sum / static_cast<double>(request_.batch);
  }
  void LeaveLossAt(const LossPlace& place) override { loss_place_ = place; }

  int64_t MemoryBytes() const override { return stages_.bytes + WorkingBytes(); }
  int64_t UnsharedBytes() const override { return stages_.unshared_bytes + WorkingBytes(); }
  int64_t WorkingBytes() const override { return SumOf(&WorkingMemory::WorkingBytes); }
  int64_t RowGradientBytes() const override { return SumOf(&WorkingMemory::RowGradientBytes); }
  std::string FirstNonFinite() override {
    if (batch_ && non_finite_.empty() && WentWrong()) FindNonFinite(*batch_);
    return non_finite_;
  }

  std::vector<std::string> Kernels() const override {
    std::vector<std::string> kernels;
    for (const Stage& stage : list_) {
      if (stage.converts) continue;
      kernels.resize(stage.node->index + 1);
      kernels.back() = stage.plan->kernel;
    }
    return kernels;
  }

 private:
  int64_t SumOf(int64_t (WorkingMemory::*of)() const) const {
    int64_t bytes = 0;
    for (const Stage& stage : list_)
      if (const auto* plan = dynamic_cast<const WorkingMemory*>(stage.plan.get()))
        bytes += (plan->*of)();
    return bytes;
  }
  bool body() const { return request_.part == GraphPart::kBody; }
  Stream& stream() const { return *request_.target.stream; }
  bool on_host() const { return request_.target.device->IsHost(); }

  /// The batch's arrays where the plan runs, and its dense input in f32.
  void FindArrays(const Batch& batch) {
    if (!on_host() && batch.sent) {
      arrays_ = batch.sent;
      arrays_->Join(stream());
    } else {
      own_arrays_.Take(batch);
      arrays_ = &own_arrays_;
    }
    dense_ = arrays_->dense();
    if (dense_.type != DType::kU8) return;
    if (!normalize_) normalize_ = MakeNormalize(request_.target);
    dense_ = {.shape = dense_.shape, .data = normalized_.Reserve<float>(dense_.Count())};
  }

  void Send(const Batch& batch) {
    bool moved = !place_;
    for (const Stage& stage : list_)
      if (stage.trained && stage.plan->Send(batch)) moved = true;
    if (moved) place_ = std::make_shared<char>();
  }

  void Normalize() {
    normalize_->Forward({.stored = arrays_->dense(),
                         .input = dense_,
                         .scales = arrays_->scales(),
                         .crops = arrays_->crops()});
  }

  /// Leaves this pass's loss for the host, as Loss computes it there.
  void FetchLosses() {
    for (const int loss : stages_.losses)
      step_loss_->Forward({.losses = list_[loss].output.As<float>(),
                           .count = request_.batch,
                           .first = loss == stages_.losses.front(),
                           .last = loss == stages_.losses.back(),
                           .loss = loss_place_.loss,
                           .stop = loss_place_.stop});
  }

  bool IsFinite(const Stage& stage) const {
    if (stage.plan->output.active) return AllFinite(stage.active);
    if (on_host()) return AllFinite(stage.output);
    std::vector<std::byte> copy(static_cast<size_t>(stage.output.Bytes()));
    stream().Copy(copy.data(), stage.output.data, stage.output.Bytes());
    stream().Wait();
    Tensor there = stage.output;
    there.data = copy.data();
    return AllFinite(there);
  }

  void AddTo(const Tensor& sum, const Tensor& what) {
    add_.inputs.assign({sum, what});
    add_.output = sum;
    sum_->Forward(add_);
  }

  /// On a device, where Forward does not look for it.
  bool WentWrong() const {
    if (on_host()) return false;
    return body() ? !IsFinite(list_[stages_.scores]) : !scored_only_ && !std::isfinite(Loss());
  }

  bool Skipped(size_t i) const { return scored_only_ && !list_[i].converts && list_[i].node->loss; }

  void RunForward(size_t i, const Batch& batch) {
    const WorkLabel label({list_[i].node->name, "forward"});
    Bind(list_[i]);
    list_[i].plan->Forward(Call(i, batch));
  }

  /// Outputs share memory, so each is checked right after it is recomputed.
  void FindNonFinite(const Batch& batch) {
    for (size_t i = 0; i < list_.size() && non_finite_.empty(); ++i) {
      if (Skipped(i) || list_[i].plan->output_is_input) continue;
      RunForward(i, batch);
      if (!IsFinite(list_[i])) non_finite_ = list_[i].node->name;
    }
  }

  static void Announce(const Stage& stage, const GradientReady& ready) {
    if (!ready || stage.converts) return;
    for (size_t p = 0; p < stage.params.size(); ++p)
      if (stage.params[p].gradient || stage.params[p].rows) ready(stage.node->slices[p]);
  }

  void Bind(Stage& stage) const {
    for (size_t p = 0; p < stage.params.size(); ++p) {
      const int index = stage.node->slices[p];
      const Slice& slice = layout_.slices()[index];
      ParamRef& ref = stage.params[p];
      if (ref.value.type != slice.type)
        ref.value.data = view_.bf16 + slice.offset;
      else
        ref.value.data = view_.values.data + slice.offset;
      const bool in_place = p == 0 && stage.in_place;
      const bool changes = view_.writable.data && (in_place || slice.kind == SliceKind::kBuffer);
      ref.writable = changes ? view_.writable.data + slice.offset : nullptr;
      ref.update = view_.update;
      if (!view_.gradients || in_place) continue;
      if (slice.kind == SliceKind::kDense)
        ref.gradient = view_.gradients->dense().data + slice.offset;
      else if (slice.kind == SliceKind::kRowSparse)
        ref.rows = &view_.gradients->rows(index);
    }
  }

  /// The output of a stage, or the data, for this batch.
  Tensor OutputOf(int stage) const {
    void* data = input_.sparse ? nullptr : dense_.data;
    if (stage == kData) return TensorOf(input_, request_.batch, data);
    Tensor output = list_[stage].output;
    if (!output.data && OnData(list_, stage)) output.data = data;
    return output;
  }

  LayerCall Call(size_t i, const Batch& batch) {
    Stage& stage = list_[i];
    const Source& first = stage.sources[0];
    for (size_t k = 1; k < stage.sources.size(); ++k) {
      others_[k - 1] = OutputOf(stage.sources[k].stage);
      other_gradients_[k - 1] = GradientOf(stage.sources[k], others_[k - 1]);
    }
    const Tensor input = OutputOf(first.stage);
    ActiveSet* const below = first.stage == kData ? nullptr : ActiveOf(list_[first.stage]);
    return {.batch = batch,
            .sparse = arrays_->sparse(),
            .labels = arrays_->labels(),
            .examples = arrays_->examples(),
            .epoch = arrays_->epoch(),
            .input = input,
            .output = OutputOf(static_cast<int>(i)),
            .input_gradient = GradientOf(first, input),
            .output_gradient = stage.gradient,
            .params = stage.params,
            .others = {others_.data(), stage.sources.size() - 1},
            .other_gradients = {other_gradients_.data(), stage.sources.size() - 1},
            .more_gradient = stage.more,
            .saved = stage.saved,
            .scratch = stages_.scratch,
            .active_input = below,
            .active_output = ActiveOf(stage),
            .state = view_.states ? view_.states->of(stage.node->index) : nullptr};
  }

  /// The gradient's tensor, with the input's shape even if it is not needed.
  static Tensor GradientOf(const Source& source, const Tensor& input) {
    Tensor gradient = source.gradient;
    gradient.shape = input.shape;
    return gradient;
  }

  static ActiveSet* ActiveOf(Stage& stage) {
    return stage.plan->output.active ? &stage.active : nullptr;
  }

  const ParamLayout& layout_;
  Edge input_;
  CompileRequest request_;
  Stages stages_;
  std::vector<Stage>& list_;
  std::vector<Tensor> others_, other_gradients_;  // of the current call
  BatchArrays own_arrays_;
  const BatchArrays* arrays_ = nullptr;  // of the last Prepare
  Tensor dense_;                         // likewise: the input
  GrowingBuffer normalized_;             // it, where the batch has bytes
  std::shared_ptr<const void> place_;    // of training on a device
  std::unique_ptr<Kernel<NormalizeCall>> normalize_;
  std::unique_ptr<SumKernel> sum_;
  SumCall add_;
  Bf16Copy bf16_;
  Buffer loss_;  // of a device's plan, unless it is left elsewhere
  std::unique_ptr<Kernel<StepLossCall>> step_loss_;
  LossPlace loss_place_;
  ParamView view_;
  const Batch* prepared_ = nullptr;  // null: Forward has had it
  const Batch* batch_ = nullptr;     // of the last Forward
  Tensor scores_;
  std::string non_finite_;
  bool scored_only_ = true;  ///< The batch of the last Prepare has no labels.
};

}  // namespace

std::unique_ptr<GraphPlan> CompileGraph(const std::vector<GraphNode>& nodes,
                                        const ParamLayout& layout, const Edge& input,
                                        const CompileRequest& request) {
  return std::make_unique<StagedPlan>(layout, input, request,
                                      MakeStages(nodes, layout, input, request));
}

}  // namespace yoke
