// HogbatchWorker: a thread computes and writes where the shared values are; a device on its
// replica.
#include "node/hogbatch_worker.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/shared.h"
#include "node/adaptive_batch_sizes.h"

namespace yoke {

HogbatchWorker::HogbatchWorker(HogbatchShared& shared, int index, size_t device, int64_t usual)
    : shared_(shared),
      index_(index),
      device_(device),
      gradients_(shared.context.graph.layout(), Cpu()) {
  Device& own = *shared.context.devices[device];
  if (own.IsHost())
    plans_ =
        std::make_unique<Plans>(shared.context, usual, PlanSettings{.immediate = shared.immediate});
  else
    replica_ = std::make_unique<DeviceReplica>(shared.context, own, usual);
}

void HogbatchWorker::Serve(const Communicator& channel) {
  channel_ = channel;
  for (;;) {
    if (std::exchange(has_next_, false))
      std::swap(now_, next_);
    else
      Await(now_);
    if (now_.work.kind == ExecuteWork::kEnd) break;
    const ScheduleWork report = Execute(now_);
    channel_->Send(std::as_bytes(std::span(&report, 1)), channel_->rank(), kToCoordinator);
  }
  channel_.reset();
}

/// However long the coordinator has no work for it.
void HogbatchWorker::Await(Piece& piece) const {
  const Message message = channel_->ReceiveWithoutTimeout(channel_->rank(), 1 + index_);
  piece.work = Decode(message, piece.examples);
  piece.sent = false;
}

ScheduleWork HogbatchWorker::Execute(Piece& piece) {
  ScheduleWork report = {.worker = index_};
  const double began = channel_->Now();
  cpu_threads_ = static_cast<int>(piece.work.cpu_threads);
  failure_ = nullptr;
  try {
    if (piece.work.kind == ExecuteWork::kMeasure) {
      report.kind = ScheduleWork::kMeasured;
      report.least = FindLeast(piece);
    } else {
      Train(piece, report);
    }
  } catch (...) {
    failure_ = std::current_exception();
    report.kind = ScheduleWork::kFailed;
    replica_.reset();                                   // waits for what is under way
    has_next_ &= next_.work.kind == ExecuteWork::kEnd;  // the coordinator takes other work back
  }
  report.seconds = channel_->Now() - began;
  return report;
}

void HogbatchWorker::Train(Piece& piece, ScheduleWork& report) {
  const WorkSource& source = *shared_.round.source;
  const std::span<const int64_t> examples = piece.examples;
  if (replica_) {
    if (!piece.sent) Send(piece);
    return Update(piece.batch, piece.work, report);
  }
  for (size_t at = 0; at < examples.size() && std::isfinite(report.loss);) {
    const size_t size = std::min(static_cast<size_t>(piece.work.batch), examples.size() - at);
    source.Read(examples.subspan(at, size), batch_);
    Update(batch_, piece.work, report);
    at += size;
  }
}

/// With the first of the piece's examples. The gradients are discarded.
int64_t HogbatchWorker::FindLeast(const Piece& piece) {
  CopyShared(shared_.round.params.values.Host().data(), shared_.round.params.layout->size(),
             replica_->values().data());
  return LeastBatch(std::ssize(piece.examples), [&](int64_t size) {
    shared_.round.source->Read(std::span(piece.examples).first(size), batch_);
    if (!InVirtualTime()) replica_->Step(batch_, gradients_);  // compiles
    const double began = channel_->Now();
    if (InVirtualTime())
      ChargeDevice(size);
    else
      replica_->Step(batch_, gradients_);
    return channel_->Now() - began;
  });
}

/// While the device computes: asks for the next piece and sends it.
void HogbatchWorker::LookAhead() {
  const ScheduleWork ready = {.worker = index_, .kind = ScheduleWork::kReady};
  channel_->Send(std::as_bytes(std::span(&ready, 1)), channel_->rank(), kToCoordinator);
  Await(next_);
  has_next_ = next_.work.kind != ExecuteWork::kNothing;
  if (next_.work.kind != ExecuteWork::kTrain) return;
  Send(next_);
}

/// Reads a device's batch and copies it there.
void HogbatchWorker::Send(Piece& piece) {
  shared_.round.source->Read(piece.examples, piece.batch);
  replica_->Send(piece.batch);
  piece.sent = true;
}

/// One update, unless the loss is not finite; then nothing changes.
void HogbatchWorker::Update(const Batch& batch, const ExecuteWork& work, ScheduleWork& report) {
  const auto size = static_cast<double>(batch.size);
  const double part = std::min(1.0, size / static_cast<double>(work.rate_examples));
  parts_ = shared_.scale_rate ? 1 / part : 1;
  UpdateStep step = {.learning_rate = work.learning_rate};
  ParamView view = shared_.round.params;
  view.gradients = &gradients_;
  if (!plans_) view.states = nullptr;
  const double rate = RateOfPart(*shared_.context.rule, work.learning_rate, parts_);
  view.update = {.factor = static_cast<float>(-rate), .writer = index_};
  seen_ = shared_.updates;
  const double loss = plans_ ? OnThread(batch, view, step) : OnDevice(batch, view, step);
  report.loss += loss * size;  // not finite: it stays so
  report.examples += batch.size;
  if (!std::isfinite(loss)) return;
  ++report.updates;
  report.missed += missed_;
  report.most_missed = std::max(report.most_missed, missed_);
}

/// The number of this update, which the rule counts.
int64_t HogbatchWorker::CountUpdate() {
  const int64_t number = ++shared_.updates;
  missed_ = number - 1 - seen_;
  return shared_.round.first_step + number;
}

/// Returns the loss.
double HogbatchWorker::OnThread(const Batch& batch, const ParamView& view, UpdateStep& step) {
  GraphPlan& plan = plans_->For(batch);
  plan.Forward(batch, view);
  const double loss = plan.Loss();
  if (!std::isfinite(loss)) return loss;
  float* const shared = view.writable.Host().data();
  const bool looks_at_all = shared_.context.clip_norm > 0 || shared_.context.rule->Scalars() > 0;
  if (InVirtualTime() || looks_at_all) {
    plan.Backward(batch, view, {});
    Charge(batch.size, false);
    step.step = CountUpdate();
    Apply(shared, step);
    return loss;
  }
  step.step = CountUpdate();
  // Each slice while its gradient is in cache.
  plan.Backward(batch, view,
                [&](int slice) { shared_.racing.Apply(slice, shared, gradients_, step, parts_); });
  return loss;
}

double HogbatchWorker::OnDevice(const Batch& batch, const ParamView& view, UpdateStep& step) {
  const ParamLayout& layout = *view.layout;
  float* const shared = view.writable.Host().data();
  float* const own = replica_->values().data();
  CopyShared(view.values.Host().data(), layout.size(), own);
  replica_->Begin();
  LookAhead();
  const double loss = replica_->Finish(gradients_).loss;
  if (InVirtualTime()) Charge(batch.size, true);
  if (!std::isfinite(loss)) return loss;
  step.step = CountUpdate();
  Apply(shared_.overwrite ? own : shared, step);
  const int64_t first = layout.statistics_begin();
  if (shared_.overwrite) CopyShared(own, first, shared);
  CopyShared(replica_->statistics().data(), layout.size() - first, shared + first);
  return loss;
}

/// All slices, clipped, by the step that the rule makes of it.
void HogbatchWorker::Apply(float* target, UpdateStep& step) {
  const ParamLayout& layout = *shared_.round.params.layout;
  ClearFrozen(layout, *shared_.context.state, gradients_);
  if (const double most = shared_.context.clip_norm; most > 0)
    if (const double norm = GradientNorm(layout, gradients_); norm > most)
      step.gradient_scale = most / norm;
  step = shared_.racing.Tune(step, gradients_);
  AnnounceAll(layout,
              [&](int slice) { shared_.racing.Apply(slice, target, gradients_, step, parts_); });
}

/// In virtual time: a pass and its update. A device's batch travels while the one before is
/// computed; its values go there and the gradient comes back around the pass.
void HogbatchWorker::Charge(int64_t examples, bool on_device) const {
  if (!InVirtualTime()) return;
  const ExecutorContext& context = shared_.context;
  const ParamLayout& layout = context.graph.layout();
  const WorkPlace cpu = {.examples = examples, .threads = std::max(1, cpu_threads_)};
  Cost update = CostOfUpdate(*context.state, layout.dense_size());
  if (on_device) {
    update += CostOfStaging(layout);
    ChargeDevice(examples);
    return channel_->Charge(update, cpu);
  }
  Cost cost = context.graph.Price(examples);
  cost += update;
  channel_->Charge(cost, cpu);
}

void HogbatchWorker::ChargeDevice(int64_t examples) const {
  const ExecutorContext& context = shared_.context;
  Cost cost = context.graph.Price(examples);
  cost.device_bytes = CopiedBytes(context.graph.layout());
  channel_->Charge(cost, {.device = context.devices[device_]->name(), .examples = examples});
}

std::string HogbatchWorker::FirstNonFinite() const {
  if (plans_) return plans_->FirstNonFinite();
  return replica_ ? replica_->FirstNonFinite() : "";
}

}  // namespace yoke
