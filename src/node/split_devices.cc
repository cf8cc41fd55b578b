// SplitDevices: devices first, since they run beside the CPU; then the CPU's own part.
#include "node/split_devices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "comm/virtual_time.h"
#include "kernels/vectors.h"
#include "node/sub_batch.h"

namespace yoke {
namespace {

constexpr size_t kDivisions = 8;  // kept

/// What the caller does before and after the parts, `apart` of which are not the CPU's: the sum of
/// their gradients (each is read, and the sum is read and written), and the copies in its memory.
Cost CostOfCaller(const Graph& graph, int64_t parts, int64_t apart) {
  return {.bytes = 3 * 4.0 * double(graph.layout().dense_size()) * double(parts) +
                   CostOfStaging(graph.layout()).bytes * double(apart)};
}

}  // namespace

/// A device and its part of the batch.
struct SplitDevices::Part {
  Part(const ExecutorContext& context, Device* device)
      : gradients(context.graph.layout(), Cpu()), cpu(device->IsHost()) {
    if (!cpu) replica = std::make_unique<DeviceReplica>(context, *device, context.batch);
  }
  bool works() const { return cpu || replica; }
  /// Whether it is computed from a copy of the values, with running statistics of its own.
  bool apart() const { return replica != nullptr; }

  Batch batch;
  Gradients gradients;
  bool cpu;
  double seconds = 0;  ///< Of this step.
  StepResult result;
  std::string failure;                     ///< Why it failed in this step, or "".
  std::unique_ptr<DeviceReplica> replica;  ///< Null: the CPU, or a device that has failed.
};

SplitDevices::SplitDevices(const ExecutorContext& context, const std::vector<double>& fractions)
    : context_(context),
      start_(fractions.empty() ? Division(context.devices.size()) : Division(fractions)),
      usage_(context.devices) {
  for (Device* device : context_.devices) {
    parts_.push_back(std::make_unique<Part>(context_, device));
    if (device->IsHost()) cpu_plans_ = std::make_unique<Plans>(context_, context_.batch);
  }
}

SplitDevices::~SplitDevices() = default;

StepResult SplitDevices::Step(const Batch& batch, const ParamView& params,
                              const ExecutorStep& step) {
  if (batch.size == 0) return StepOfNothing(params, step.ready);
  const double began = Now();
  const std::vector<int64_t>& sizes = Divide(batch.size);
  int64_t at = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    TakeSubBatch(batch, at, at + sizes[i], parts_[i]->batch);
    at += sizes[i];
  }
  StepResult result{.examples = batch.size};
  for (const auto& part : parts_)
    if (part->apart() && part->batch.size > 0) Begin(*part, params);
  for (const auto& part : parts_)
    if (part->cpu && part->batch.size > 0) ComputeOnCpu(*part, params);
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i]->apart() && parts_[i]->batch.size > 0) Finish(i);
  for (const auto& part : parts_)
    if (!part->failure.empty()) TakeOver(*part, params);
  if (InVirtualTime()) result.seconds = VirtualSeconds(batch.size);
  usage_.Passed(InVirtualTime() ? result.seconds : Now() - began);
  for (const auto& part : parts_)
    if (part->batch.size > 0)
      result.loss += part->result.loss * double(part->batch.size) / double(batch.size);
  Sum(params, batch.size);
  AnnounceAll(*params.layout, step.ready);
  return result;
}

/// A size that is new starts from the speeds of the last one.
const std::vector<int64_t>& SplitDevices::Divide(int64_t examples) {
  if (division_) start_ = *division_;
  if (divisions_.size() >= kDivisions)
    std::erase_if(divisions_, [this](const auto& each) { return each.first != context_.batch; });
  division_ = &divisions_.try_emplace(examples, start_).first->second;
  std::vector<bool> works;
  for (const auto& part : parts_) works.push_back(part->works());
  return division_->Divide(examples, works);
}

void SplitDevices::Begin(Part& part, const ParamView& params) const {
  try {
    Copy(OnHost(part.replica->values()), params.values);
    part.replica->Send(part.batch);
    part.replica->Begin();
  } catch (const std::exception& error) {
    part.failure = error.what();
  }
}

void SplitDevices::Finish(size_t i) {
  Part& part = *parts_[i];
  if (!part.failure.empty()) return;
  try {
    part.result = part.replica->Finish(part.gradients);
  } catch (const std::exception& error) {
    part.failure = error.what();
    return;
  }
  const double seconds = Seconds(part, part.replica->busy_seconds());
  usage_.Count(i, {.examples = part.batch.size, .updates = 1, .busy_seconds = seconds});
  division_->Measure(i, seconds);
}

/// With the caller's threads.
void SplitDevices::ComputeOnCpu(Part& part, const ParamView& params) {
  GraphPlan& plan = cpu_plans_->For(part.batch.size);  // compiling does not count
  const double began = Now();
  ParamView view = params;
  view.gradients = &part.gradients;
  plan.PrepareAndForward(part.batch, view);
  plan.Backward(part.batch, view, {});
  part.result = {.loss = plan.Loss(), .examples = part.batch.size};
  const double seconds = Seconds(part, Now() - began);
  const size_t cpu =
      std::ranges::find_if(parts_, [](const auto& each) { return each->cpu; }) - parts_.begin();
  usage_.Count(cpu, {.examples = part.batch.size, .updates = 1, .busy_seconds = seconds});
  if (part.cpu) division_->Measure(cpu, seconds);
}

bool SplitDevices::InVirtualTime() const {
  return context_.node && yoke::InVirtualTime(*context_.node);
}

/// What a part took: as measured, or in virtual time with its copies.
double SplitDevices::Seconds(Part& part, double measured) const {
  if (InVirtualTime()) {
    Cost cost = context_.graph.Price(part.batch.size);
    const ParamLayout& layout = context_.graph.layout();
    if (part.replica) cost.device_bytes = CopiedBytes(layout);
    const std::string& device = part.replica ? part.replica->device().name() : Cpu().name();
    measured =
        VirtualTime(*context_.node).Price(cost, {.device = device, .examples = part.batch.size});
  }
  return part.seconds = measured;
}

/// The longest part, and what the caller does besides.
double SplitDevices::VirtualSeconds(int64_t examples) const {
  double longest = 0;
  int64_t at_work = 0, apart = 0;
  for (const auto& part : parts_) {
    if (part->batch.size == 0) continue;
    longest = std::max(longest, part->seconds);
    ++at_work;
    apart += part->apart();
  }
  return longest + VirtualTime(*context_.node)
                       .Price(CostOfCaller(context_.graph, at_work, apart), {.examples = examples});
}

/// A device has failed: the CPU, or else the first other device, computes its part now, and the
/// others all later ones.
void SplitDevices::TakeOver(Part& part, const ParamView& params) {
  const Device& device = part.replica->device();
  const std::string why = std::exchange(part.failure, "");
  part.replica.reset();
  const auto other = std::ranges::find_if(
      parts_, [](const auto& each) { return each->works() && each->failure.empty(); });
  if (other == parts_.end())
    throw Error(fmt::format("device {} failed ({}), and no other is left", device.name(), why));
  LogGoingOnWithout(device, why);
  if (cpu_plans_) return ComputeOnCpu(part, params);
  Copy(OnHost((*other)->replica->values()), params.values);
  part.result = (*other)->replica->Step(part.batch, part.gradients);
  usage_.Count(other - parts_.begin(), {.examples = part.batch.size,
                                        .updates = 1,
                                        .busy_seconds = (*other)->replica->busy_seconds()});
}

/// The gradients' weighted sum, and the weighted mean of the running statistics. The CPU's are in
/// params already.
void SplitDevices::Sum(const ParamView& params, int64_t size) {
  const Values sum = params.gradients->dense().Host();
  const Values means =
      params.writable.Host().subspan(static_cast<size_t>(params.layout->statistics_begin()));
  std::ranges::fill(sum, 0.0F);
  std::vector<const Gradients*> summed;
  float counted = 0;
  for (const bool apart : {false, true})
    for (const auto& part : parts_) {
      if (part->batch.size == 0 || part->apart() != apart) continue;
      const auto share = static_cast<float>(double(part->batch.size) / double(size));
      AddScaled(sum, share, part->gradients.dense().Host());
      PartRows::Weigh(*params.layout, share, part->gradients);
      summed.push_back(&part->gradients);
      counted += share;
      if (apart) MoveTowards(means, share / counted, part->replica->statistics());
    }
  rows_.Sum(*params.layout, summed, *params.gradients);
}

std::string SplitDevices::FirstNonFinite() const {
  for (const auto& part : parts_) {
    if (part->batch.size == 0 || std::isfinite(part->result.loss)) continue;
    if (part->replica) return part->replica->FirstNonFinite();
    return cpu_plans_ ? cpu_plans_->FirstNonFinite() : "";
  }
  return "";
}

ExecutorEstimate EstimateSplitDevices(const EstimateRequest& request) {
  constexpr int kSteps = 100;
  const size_t devices = request.devices.size();
  const std::vector<bool> all_work(devices, true);
  Division division(devices);
  std::vector<int64_t> sizes;
  std::vector<double> seconds(devices);
  for (int step = 0; step < kSteps; ++step) {
    sizes = division.Divide(request.batch, all_work);
    for (size_t d = 0; d < devices; ++d) {
      seconds[d] = sizes[d] > 0 ? request.PassSeconds(request.devices[d], sizes[d]) : 0;
      division.Measure(d, seconds[d]);
    }
  }
  int64_t at_work = 0, apart = 0;
  for (size_t d = 0; d < devices; ++d) {
    at_work += sizes[d] > 0;
    apart += sizes[d] > 0 && request.IsApart(request.devices[d]);
  }
  const double all =
      std::ranges::max(seconds) +
      request.Seconds(CostOfCaller(request.graph, at_work, apart), {.examples = request.batch});
  ExecutorEstimate estimate{.seconds_per_example = all / double(request.batch)};
  for (size_t d = 0; d < devices; ++d)
    estimate.devices.push_back({.name = request.devices[d],
                                .updates_per_second = sizes[d] > 0 ? 1 / all : 0,
                                .examples_per_update = double(sizes[d]),
                                .busy = seconds[d] / all});
  return estimate;
}

}  // namespace yoke
