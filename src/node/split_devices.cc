// SplitDevices: devices first, since they run beside the CPU; then the CPU's own part.
#include "node/split_devices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernels/vectors.h"
#include "node/sub_batch.h"

namespace yoke {
namespace {

constexpr double kNewest = 0.1;     // weight of a step's measurement in a device's speed
constexpr size_t kDivisions = 8;    // kept
constexpr double kWorthMore = 1.1;  // a division takes so many times longer than the best one

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
  /// It took so long for its batch.
  void Measure(double seconds) {
    if (seconds <= 0 || stated) return;
    const double now = double(batch.size) / seconds;
    speed += std::max(kNewest, 1.0 / ++measured) * (now - speed);
  }

  Batch batch;
  Gradients gradients;
  bool cpu;
  double speed = 0;     ///< Examples per second; 0: not measured yet.
  int measured = 0;     ///< Times.
  bool stated = false;  ///< The speed is a fraction of the batch.
  double seconds = 0;   ///< Of this step.
  StepResult result;
  std::string failure;                     ///< Why it failed in this step, or "".
  std::unique_ptr<DeviceReplica> replica;  ///< Null: the CPU, or a device that has failed.
};

SplitDevices::SplitDevices(const ExecutorContext& context, const std::vector<double>& fractions)
    : context_(context), usage_(context.devices) {
  for (Device* device : context_.devices) {
    parts_.push_back(std::make_unique<Part>(context_, device));
    if (device->IsHost()) cpu_plans_ = std::make_unique<Plans>(context_, context_.batch);
    if (fractions.empty()) continue;
    parts_.back()->stated = true;
    parts_.back()->speed = fractions[parts_.size() - 1];
  }
}

SplitDevices::~SplitDevices() = default;

StepResult SplitDevices::Step(const Batch& batch, const ParamView& params,
                              const ExecutorStep& step) {
  if (batch.size == 0) return StepOfNothing(params, step.ready);
  const double began = Now();
  if (divisions_.size() > kDivisions) divisions_.clear();
  sizes_ = Divide(batch.size);
  int64_t at = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    TakeSubBatch(batch, at, at + sizes_[i], parts_[i]->batch);
    at += sizes_[i];
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

/// In proportion to speed; devices whose speed is not known yet count like the slowest known one.
/// Every device gets an example where there are enough. A division stays while it is balanced.
const std::vector<int64_t>& SplitDevices::Divide(int64_t examples) {
  std::vector<int64_t>& sizes = divisions_[examples];
  std::vector<double> speeds;
  double least = 0;
  for (const auto& part : parts_)
    if (part->works() && part->speed > 0)
      least = least > 0 ? std::min(least, part->speed) : part->speed;
  for (const auto& part : parts_)
    speeds.push_back(!part->works() ? 0 : part->speed > 0 ? part->speed : std::max(least, 1.0));
  double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  if (Balanced(sizes, sum)) return sizes;
  sizes.assign(parts_.size(), 0);
  auto behind = std::ranges::count_if(speeds, [](double speed) { return speed > 0; });
  int64_t left = examples;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (speeds[i] == 0) continue;
    --behind;
    const int64_t wanted = std::lround(double(left) * speeds[i] / sum);
    const int64_t most = std::max<int64_t>(left - behind, std::min<int64_t>(left, 1));
    sizes[i] = behind == 0 ? left : std::clamp(wanted, std::min<int64_t>(left, 1), most);
    sum -= speeds[i];
    left -= sizes[i];
  }
  return sizes;
}

/// Whether a division takes hardly longer than the best one by all devices, whose speeds sum up to
/// `speed`.
bool SplitDevices::Balanced(const std::vector<int64_t>& sizes, double speed) const {
  if (sizes.empty()) return false;
  double longest = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    if (!parts_[i]->works() || parts_[i]->speed == 0) return false;
    longest = std::max(longest, double(sizes[i]) / parts_[i]->speed);
  }
  const auto examples = double(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
  return longest <= kWorthMore * examples / speed;
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
  part.Measure(seconds);
}

/// With the caller's threads.
void SplitDevices::ComputeOnCpu(Part& part, const ParamView& params) {
  GraphPlan& plan = cpu_plans_->For(part.batch.size);  // compiling does not count
  const double began = Now();
  ParamView view = params;
  view.gradients = &part.gradients;
  plan.Forward(part.batch, view);
  plan.Backward(part.batch, view, {});
  part.result = {.loss = plan.Loss(), .examples = part.batch.size};
  const double seconds = Seconds(part, Now() - began);
  const auto cpu = std::ranges::find_if(parts_, [](const auto& each) { return each->cpu; });
  usage_.Count(cpu - parts_.begin(),
               {.examples = part.batch.size, .updates = 1, .busy_seconds = seconds});
  if (part.cpu) part.Measure(seconds);
}

bool SplitDevices::InVirtualTime() const { return context_.node && context_.node->InVirtualTime(); }

/// What a part took: as measured, or in virtual time with its copies.
double SplitDevices::Seconds(Part& part, double measured) const {
  if (InVirtualTime()) {
    Cost cost = context_.graph.Price(part.batch.size);
    const ParamLayout& layout = context_.graph.layout();
    if (part.replica) cost.device_bytes = 4.0 * double(layout.size() + layout.dense_size());
    const std::string& device = part.replica ? part.replica->device().name() : Cpu().name();
    measured = context_.node->Price(cost, {.device = device, .examples = part.batch.size});
  }
  return part.seconds = measured;
}

/// The longest part, and the sum of the gradients.
double SplitDevices::VirtualSeconds(int64_t examples) const {
  double longest = 0, bytes = 0;
  for (const auto& part : parts_) {
    if (part->batch.size == 0) continue;
    longest = std::max(longest, part->seconds);
    bytes += 3 * 4.0 * double(context_.graph.layout().dense_size());
  }
  return longest + context_.node->Price({.bytes = bytes}, {.examples = examples});
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

}  // namespace yoke
