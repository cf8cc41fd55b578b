// SplitDevices: devices first, since they run beside the CPU; then the CPU's own part.
#include "node/split_devices.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernels/vectors.h"
#include "node/sub_batch.h"

namespace yoke {
namespace {

constexpr double kNewest = 0.3;  // weight of a step's measurement in a device's speed

}  // namespace

SplitDevices::Part::Part(const ExecutorContext& context, Device* device)
    : gradients(context.graph.layout(), Cpu()) {
  if (device->IsHost()) {
    plans = std::make_unique<Plans>(context, context.batch);
    return;
  }
  replica = std::make_unique<DeviceReplica>(context, *device, context.batch);
  values.resize(static_cast<size_t>(context.graph.layout().size()));
}

SplitDevices::SplitDevices(const ExecutorContext& context)
    : context_(context), times_(context.devices) {
  for (Device* device : context_.devices) {
    parts_.push_back(std::make_unique<Part>(context_, device));
    if (device->IsHost()) cpu_ = parts_.back().get();
  }
}

StepResult SplitDevices::Step(const Batch& batch, const ParamView& params,
                              const ExecutorStep& step) {
  if (batch.size == 0) return StepOfNothing(params, step.ready);
  Require(!step.head, "a served head needs node.devices = \"cpu\"");
  const double began = Now();
  Divide(batch);
  for (const auto& part : parts_)
    if (part->replica && part->batch.size > 0) Begin(*part, params);
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].get() == cpu_ && cpu_->batch.size > 0) {
      const double start = Now();
      Compute(*cpu_, params);
      Measure(i, Now() - start);
    }
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i]->replica && parts_[i]->batch.size > 0) Finish(i, params);
  times_.Passed(Now() - began);
  StepResult result{.examples = batch.size};
  for (const auto& part : parts_)
    if (part->batch.size > 0)
      result.loss += part->result.loss * double(part->batch.size) / double(batch.size);
  Sum(params, batch.size);
  AnnounceAll(*params.layout, step.ready);
  return result;
}

/// In proportion to speed; devices whose speed is not known yet count like the slowest known one.
/// Every device that has not failed gets an example where there are enough.
void SplitDevices::Divide(const Batch& batch) {
  double least = 0, sum = 0;
  for (const auto& part : parts_)
    if (part->speed > 0) least = least > 0 ? std::min(least, part->speed) : part->speed;
  std::vector<double> weights;
  for (const auto& part : parts_) {
    const bool works = part->replica || part.get() == cpu_;
    weights.push_back(!works ? 0 : part->speed > 0 ? part->speed : least > 0 ? least : 1);
    sum += weights.back();
  }
  Check(sum > 0, "all devices have failed");
  int64_t begin = 0, left = batch.size;
  auto working = std::ranges::count_if(weights, [](double w) { return w > 0; });
  for (size_t i = 0; i < parts_.size(); ++i) {
    int64_t size = 0;
    if (weights[i] > 0) {
      --working;  // of those behind
      const auto wanted =
          static_cast<int64_t>(std::lround(double(left) * weights[i] / std::max(sum, weights[i])));
      size = working == 0 ? left
                          : std::clamp<int64_t>(wanted, std::min<int64_t>(1, left),
                                                std::max<int64_t>(left - working, 0));
      sum -= weights[i];
    }
    TakeSubBatch(batch, begin, begin + size, parts_[i]->batch);
    begin += size, left -= size;
  }
}

void SplitDevices::Begin(Part& part, const ParamView& params) {
  std::copy_n(params.values, part.values.size(), part.values.data());
  ParamView view = params;
  view.values = part.values.data();
  view.gradients = &part.gradients;
  try {
    part.replica->Begin(part.batch, view);
  } catch (const UserError&) {
    throw;  // a layer that the device does not take
  } catch (const std::exception& error) {
    part.failure = error.what();
  }
}

void SplitDevices::Finish(size_t i, const ParamView& params) {
  Part& part = *parts_[i];
  const double before = part.replica->busy_seconds();
  if (part.failure.empty()) try {
      part.result = part.replica->Finish();
    } catch (const std::exception& error) {
      part.failure = error.what();
    }
  if (!part.failure.empty()) return TakeOver(part, params);
  Measure(i, part.replica->busy_seconds() - before);
}

/// On the CPU, with the caller's threads.
void SplitDevices::Compute(Part& part, const ParamView& params) {
  GraphPlan& plan = cpu_->plans->For(part.batch.size);
  ParamView view = params;
  view.gradients = &part.gradients;
  plan.Forward(part.batch, view);
  plan.Backward(part.batch, view, {});
  part.result = {.loss = plan.Loss(), .examples = part.batch.size};
}

void SplitDevices::Measure(size_t i, double seconds) {
  Part& part = *parts_[i];
  times_.Count(i, part.batch.size, 1, seconds);
  if (seconds <= 0) return;
  const double speed = double(part.batch.size) / seconds;
  part.speed = part.speed > 0 ? (1 - kNewest) * part.speed + kNewest * speed : speed;
}

/// The CPU computes the part of a device that has failed, and all later ones.
void SplitDevices::TakeOver(Part& part, const ParamView& params) {
  const std::string name = part.replica->device().name();
  Require(cpu_, "device {} failed ({}), and node.devices has no cpu to go on", name, part.failure);
  LogWarning(fmt::format("device {} failed ({}): training goes on without it", name, part.failure));
  part.replica.reset();
  part.failure.clear();
  part.speed = 0;
  const size_t cpu = static_cast<size_t>(
      std::ranges::find(parts_, cpu_, &std::unique_ptr<Part>::get) - parts_.begin());
  const double start = Now();
  Compute(part, params);
  times_.Count(cpu, part.batch.size, 1, Now() - start);
}

/// The gradients' weighted sum, and the weighted mean of the running statistics. The CPU's are in
/// params.values already.
void SplitDevices::Sum(const ParamView& params, int64_t size) const {
  const auto statistics = static_cast<size_t>(params.layout->statistics_begin());
  const Values sum(params.gradients->dense(), static_cast<size_t>(params.layout->dense_size()));
  const Values means =
      Values(params.values, static_cast<size_t>(params.layout->size())).subspan(statistics);
  std::ranges::fill(sum, 0.0F);
  float counted = 0;
  for (const bool copied : {false, true})
    for (const auto& part : parts_) {
      if (part->batch.size == 0 || (part->replica != nullptr) != copied) continue;
      const auto share = static_cast<float>(double(part->batch.size) / double(size));
      AddScaled(sum, share, ConstValues(part->gradients.dense(), sum.size()));
      counted += share;
      if (copied)
        MoveTowards(means, share / counted, ConstValues(part->values).subspan(statistics));
    }
}

std::string SplitDevices::FirstNonFinite() const {
  for (const auto& part : parts_) {
    if (part->batch.size == 0 || std::isfinite(part->result.loss)) continue;
    return part->replica ? part->replica->FirstNonFinite() : cpu_->plans->FirstNonFinite();
  }
  return "";
}

}  // namespace yoke
