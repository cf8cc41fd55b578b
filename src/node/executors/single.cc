// Single: one device computes the whole batch; on a CPU all threads of the caller work on each
// layer together.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "kernels/losses.h"
#include "model/bf16_copy.h"
#include "node/captured_pass.h"
#include "node/chip_parts.h"
#include "node/device_replica.h"
#include "node/plans.h"
#include "node/sub_batch.h"
#include "optim/captured_update.h"

namespace yoke::executor {
namespace {

/// Computes on the CPU, with the values there.
class Single : public Executor {
 public:
  explicit Single(const ExecutorContext& context)
      : context_(context), plans_(context_, context.batch) {}

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (batch.size == 0) return StepOfNothing(params, step.ready);
    if (step.head) return StepOfBody(batch, params, step);
    GraphPlan& plan = plans_.For(batch);
    const ParamView view = context_.arithmetic == DType::kBf16 ? bf16_.Refresh(params) : params;
    plan.Forward(batch, view);
    plan.Backward(batch, view, step.ready);
    return {.loss = plan.Loss(), .examples = batch.size};
  }

  std::string FirstNonFinite() const override {
    const std::string layer = plans_.FirstNonFinite();
    return layer.empty() ? bodies_.FirstNonFinite() : layer;
  }

 private:
  StepResult StepOfBody(const Batch& batch, const ParamView& params, const ExecutorStep& step) {
    GraphPlan& body = bodies_.For(batch);
    body.Forward(batch, params);
    TakeLabels(batch, body.Scores(), above_);
    const double loss = step.head->Step(above_, body.CutGradient().As<float>());
    body.Backward(batch, params, step.ready);
    return {.loss = loss, .examples = batch.size};
  }

  ExecutorContext context_;
  Bf16Copy bf16_;
  Plans plans_;
  Plans bodies_{context_, context_.batch, {.part = GraphPart::kBody}};
  Batch above_;  // activations with the batch's labels
};

/// The batch's arrays have the lengths of all batches of its size, so they move on all ranks alike.
bool HasFixedLengths(const Batch& batch) {
  return !batch.is_sparse && !(batch.classes.empty() && batch.targets.empty());
}

/// On a device with memory of its own, with the values there. A step is only enqueued: the host
/// goes on, at most kUnderWay steps ahead.
class SingleThere : public Executor {
 public:
  explicit SingleThere(const ExecutorContext& context)
      : context_(context),
        sending_(device().NewStream()),
        losses_(device().staging(), kUnderWay * sizeof(double)),
        bf16_(target()),
        captured_(device().stream()),
        plans_(context_, context.batch, {.target = target()}) {
    for (int i = 0; i < kUnderWay; ++i) passes_.emplace_back(device(), *sending_);
    plans_.For(context.batch);  // says at once what the device does not take
  }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (batch.size == 0) return StepOfNothing(params, step.ready);
    Check(under_way_ < kUnderWay, "the results of earlier steps are taken first");
    Pass& pass = passes_[next_];
    pass.Send(batch);
    pass.view = bf16() ? bf16_.View(params) : params;
    Enqueue(pass, step);
    device().stream().Record(pass.end);
    next_ = (next_ + 1) % kUnderWay;
    ++under_way_;
    return {.examples = batch.size, .late = true};
  }

  std::optional<StepResult> LateResult(bool wanted) override {
    if (under_way_ < (wanted ? 1 : kUnderWay)) return {};
    Pass& pass = passes_[(next_ + kUnderWay - under_way_) % kUnderWay];
    --under_way_;
    pass.end->Wait();
    const StepResult result = {.loss = LossOf(pass), .examples = pass.batch.size};
    if (!searched_ && !IsPossibleLoss(result.loss)) Search(pass);
    return result;
  }

  std::string FirstNonFinite() const override { return non_finite_; }

 private:
  static constexpr int kUnderWay = kMostUnderWay;

  /// A step under way.
  struct Pass : SentBatch {
    using SentBatch::SentBatch;
    ParamView view;
    std::shared_ptr<Event> end;
  };

  Device& device() const { return *context_.values_device; }
  Target target() const { return {.device = &device(), .stream = &device().stream()}; }
  bool bf16() const { return context_.arithmetic == DType::kBf16; }
  double& LossOf(const Pass& pass) const { return losses_.As<double>()[&pass - passes_.data()]; }
  /// For the layer where a loss first went wrong.
  void Search(const Pass& pass) {
    searched_ = true;
    non_finite_ = Forward(pass, nullptr).FirstNonFinite();
  }
  GraphPlan& Prepare(const Pass& pass, double* stop) {
    GraphPlan& plan = plans_.For(pass.batch);
    plan.LeaveLossAt({.loss = &LossOf(pass), .stop = stop});
    return plan;
  }
  GraphPlan& Forward(const Pass& pass, double* stop) {
    GraphPlan& plan = Prepare(pass, stop);
    plan.Forward(pass.batch, pass.view);
    return plan;
  }

  void Enqueue(Pass& pass, const ExecutorStep& step) {
    GraphPlan& plan = Prepare(pass, context_.stop);
    const auto enqueue = [&](const GradientReady& ready) {
      if (bf16()) bf16_.Refresh(pass.view);
      plan.Forward(pass.batch, pass.view);
      plan.Backward(pass.batch, pass.view, ready);
    };
    // All ranks capture sums, or launch them, in the same step: none decides alone.
    const bool differs = step.launched && !HasFixedLengths(pass.batch);
    if (!captured_.Captures() || step.beside || differs) return enqueue(step.ready);
    CapturedUpdate* const update = UpdateToCome();
    if (update) update->Begin(step.learning_rate);
    PassAddresses now = AddressesOf(pass, pass.view);
    now.plan = plan.Place();
    now.addresses.insert(now.addresses.end(), {update, &LossOf(pass)});
    const bool enqueued = captured_.Run(now, [&] {
      enqueue(step.launched ? step.ready : GradientReady());
      if (update) update->Enqueue();
    });
    if (!enqueued) plan.Launched(pass.view);
    if (!step.launched) return AnnounceAll(*pass.view.layout, step.ready);
    if (captured_.launched()) step.launched();
  }
  /// The update that becomes a part of the step; null: it follows.
  CapturedUpdate* UpdateToCome() const {
    CapturedUpdate* const update = context_.state ? context_.state->captured() : nullptr;
    return update && update->Ready() ? update : nullptr;
  }

  ExecutorContext context_;
  std::vector<Pass> passes_;
  std::unique_ptr<Stream> sending_;  // of batches
  int next_ = 0, under_way_ = 0;
  Buffer losses_;
  bool searched_ = false;
  std::string non_finite_;
  Bf16Copy bf16_;
  CapturedPasses captured_;
  Plans plans_;  // they wait for their work when they end, so they end first
};

/// On a device with memory of its own, with values that lie on the host and are copied there.
class SingleOnDevice : public Executor {
 public:
  SingleOnDevice(const ExecutorContext& context, Device& device)
      : context_(context), replica_(context_, device, context.batch) {}

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (batch.size == 0) return StepOfNothing(params, step.ready);
    Copy(OnHost(replica_.values()), params.values);
    const StepResult result = replica_.Step(batch, *params.gradients);
    std::ranges::copy(replica_.statistics(),
                      params.writable.Host().begin() + params.layout->statistics_begin());
    AnnounceAll(*params.layout, step.ready);
    return result;
  }
  std::string FirstNonFinite() const override { return replica_.FirstNonFinite(); }

 private:
  ExecutorContext context_;
  DeviceReplica replica_;
};

std::string OneDevice(const std::vector<Device*>& devices) {
  if (devices.size() == 1) return "";
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const Device* device : devices) names.push_back(device->name());
  return fmt::format("takes one device, not {} ({})", names.size(), fmt::join(names, ", "));
}

std::unique_ptr<Executor> MakeSingle(const Options& /*options*/, const ExecutorContext& context) {
  Device& device = *context.devices[0];
  if (device.IsHost()) return std::make_unique<Single>(context);
  if (&device == context.values_device) return std::make_unique<SingleThere>(context);
  return std::make_unique<SingleOnDevice>(context, device);
}

/// A pass over the batch on values that are elsewhere, with their copies.
double SecondsApart(const EstimateRequest& request) {
  return request.PassSeconds(request.devices[0], request.batch) +
         request.Seconds(CostOfStaging(request.graph.layout()), {.examples = request.batch});
}

/// t(b): a pass over the batch, also of `split` in parts of the CPU.
ExecutorEstimate EstimateSingle(const Options& options, const EstimateRequest& request) {
  const std::string& device = request.devices[0];
  const auto batch = double(request.batch);
  const double seconds =
      request.IsApart(device) ? SecondsApart(request) : SecondsInParts(options, request);
  return {.seconds_per_example = seconds / batch,
          .devices = {{.name = device,
                       .updates_per_second = 1 / seconds,
                       .examples_per_update = batch,
                       .busy = 1}}};
}

}  // namespace

ExecutorEntry single() {
  return {.name = "single",
          .summary = "One device computes the whole batch",
          .options = {},
          .make = MakeSingle,
          .supports = OneDevice,
          .values_on_device = true,
          .whole_layers = true,
          .estimate = EstimateSingle};
}

}  // namespace yoke::executor
