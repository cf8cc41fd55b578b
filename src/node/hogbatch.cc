// Hogbatch: a member of the crew for each CPU thread and for each device.
#include "node/hogbatch.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernels/shared.h"
#include "node/sub_batch.h"

namespace yoke {
namespace {

/// One thread per member, free to move within its memory node: a round waits for every small batch,
/// and a thread bound to one core would wait as long as another program holds that core. Then one
/// for each device, which mostly waits.
std::vector<ThreadPlan> Members(const ThreadPlan& plan, int cpu_threads, size_t devices) {
  std::vector<ThreadPlan> members;
  if (cpu_threads > 0) members = Divide(plan, cpu_threads);
  for (ThreadPlan& member : members) {
    const std::vector<Place> own = std::exchange(member.places, {});
    for (const Place& place : plan.places)
      if (!own.empty() && place.node == own[0].node) member.places.push_back(place);
  }
  members.resize(members.size() + devices);
  return members;
}

bool UsesCpu(const ExecutorContext& context) {
  return std::ranges::any_of(context.devices, &Device::IsHost);
}

}  // namespace

/// The data of one CPU thread, or of one device.
struct Hogbatch::Worker {
  Worker(const ExecutorContext& context, size_t which, int64_t usual, bool immediate)
      : device(which), gradients(context.graph.layout(), Cpu()) {
    Device& own = *context.devices[which];
    if (own.IsHost()) {
      plans = std::make_unique<Plans>(context, usual, PlanSettings{.immediate = immediate});
      return;
    }
    replica = std::make_unique<DeviceReplica>(context, own, usual);
  }

  size_t device;  ///< In ExecutorContext::devices.
  Gradients gradients;
  Batch batch;
  std::pair<int64_t, int64_t> first;  ///< Of a device: its first range of the round, or empty.
  double loss = 0;                    ///< Sum over this worker's examples of the round.
  int64_t examples = 0;
  std::unique_ptr<Plans> plans;            ///< Of a CPU thread.
  std::unique_ptr<DeviceReplica> replica;  ///< Null: a CPU thread, or a device that has failed.
};

/// A round: the batch to deal, and the settings of its updates.
struct Hogbatch::Round {
  const Batch& batch;
  const ParamView& params;
  double learning_rate = 0;
  int64_t first_step = 0;                                  ///< Updates before the round.
  int64_t next = 0;                                        ///< The next example to deal.
  std::vector<std::pair<int64_t, int64_t>> returned = {};  ///< By devices that have failed.
  std::atomic<int64_t> updates = 0;                        ///< Updates so far.
  std::atomic<bool> broken_off = false;                    ///< A loss was not finite.
};

Hogbatch::Hogbatch(const HogbatchSettings& settings, const ExecutorContext& context)
    : context_(context),
      settings_(settings),
      immediate_(context.rule->IsPlainDescent() && context.clip_norm <= 0),
      cpu_threads_(UsesCpu(context) ? context.threads.threads : 0),
      states_(context.graph, std::max(1, cpu_threads_)),
      updates_(context.graph.layout(), *context.rule, *context.state),
      sizes_(settings.sizes),
      times_(context.devices) {
  std::vector<size_t> devices;  // by member
  for (size_t d = 0; d < context_.devices.size(); ++d)
    if (context_.devices[d]->IsHost()) devices.insert(devices.begin(), cpu_threads_, d);
  for (size_t d = 0; d < context_.devices.size(); ++d)
    if (!context_.devices[d]->IsHost()) devices.push_back(d);
  workers_.resize(devices.size());
  crew_ = std::make_unique<Crew>(
      Members(context_.threads, cpu_threads_, devices.size() - cpu_threads_));
  crew_->Run([&](int i) {
    workers_[i] = std::make_unique<Worker>(context_, devices[i], sizes_.of(devices[i]), immediate_);
  });
}

Hogbatch::~Hogbatch() = default;

StepResult Hogbatch::Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) {
  states_.Follow(params.states);
  Round round{.batch = batch,
              .params = params,
              .learning_rate = step.learning_rate,
              .first_step = context_.state->steps};
  if (settings_.measure_least && batch.size > 0 && !std::exchange(measured_, true))
    crew_->Run([&](int i) { FindLeast(i, round); });
  const double began = Now();
  DealFirst(round);
  do  // once more if a device failed after the others had ended
    crew_->Run([&](int i) { Serve(i, round); });
  while (!round.returned.empty() && !round.broken_off);
  times_.Passed(Now() - began);
  context_.state->steps += round.updates;
  StepResult result;
  for (const auto& worker : workers_) {
    result.loss += worker->loss;
    result.examples += worker->examples;
  }
  if (result.examples > 0) result.loss /= static_cast<double>(result.examples);
  return result;
}

/// The least batch of a device: the smallest half, quarter, ... of its largest one at which it
/// still computes at half the speed. The gradients are discarded.
void Hogbatch::FindLeast(int i, const Round& round) {
  constexpr int kHalvings = 6;
  Worker& worker = *workers_[i];
  if (!worker.replica) return;
  double full = 0;
  int64_t least = 0, size = std::min(sizes_.most(worker.device), round.batch.size);
  try {
    CopyShared(round.params.values.Host().data(), round.params.layout->size(),
               worker.replica->values().data());
    for (int halving = 0; halving <= kHalvings && size > 0; ++halving, size /= 2) {
      TakeSubBatch(round.batch, 0, size, worker.batch);
      worker.replica->Step(worker.batch, worker.gradients);  // compiles
      const double began = Now();
      worker.replica->Step(worker.batch, worker.gradients);
      const double speed = double(size) / std::max(Now() - began, 1e-9);
      full = std::max(full, speed);
      if (speed < full / 2) break;
      least = size;
    }
  } catch (const std::exception&) {
    return;  // it fails again with its first range
  }
  const std::lock_guard lock(mutex_);
  sizes_.SetLeast(worker.device, std::max<int64_t>(least, 1));
}

void Hogbatch::Serve(int i, Round& round) {
  Worker& worker = *workers_[i];
  std::pair<int64_t, int64_t> range;
  while (!round.broken_off && (worker.plans || worker.replica) && Take(worker, round, range)) {
    const double began = Now();
    try {
      if (!Update(i, round)) {
        round.broken_off = true;
        return;
      }
    } catch (const std::exception& error) {
      if (Drop(worker, round, range, error.what())) return;
      round.broken_off = true;
      throw;
    }
    const double seconds = (Now() - began) / (worker.plans ? cpu_threads_ : 1);
    const std::lock_guard lock(mutex_);
    times_.Count(worker.device, worker.batch.size, 1, seconds);
    sizes_.Updated(worker.device);
  }
}

/// Each device's first range is set aside: a fast CPU could end the round before a device's thread
/// is awake.
void Hogbatch::DealFirst(Round& round) {
  const int64_t most = round.batch.size / std::ssize(workers_);
  for (const auto& worker : workers_) {
    worker->loss = 0;
    worker->examples = 0;
    const int64_t size = worker->replica ? std::min(sizes_.of(worker->device), most) : 0;
    worker->first = {round.next, round.next + size};
    round.next += size;
  }
}

/// The coordinator's answer to a worker that asks for work: a range of examples that nobody else
/// gets. False when the round has no more.
bool Hogbatch::Take(Worker& worker, Round& round, std::pair<int64_t, int64_t>& range) {
  {
    const std::lock_guard lock(mutex_);
    const int64_t size = sizes_.Ask(worker.device);
    if (worker.first.first < worker.first.second) {
      range = std::exchange(worker.first, {});
    } else if (!round.returned.empty()) {
      auto& [begin, end] = round.returned.back();
      range = {begin, std::min(begin + size, end)};
      begin = range.second;
      if (begin == end) round.returned.pop_back();
    } else {
      if (round.next >= round.batch.size) return false;
      range = {round.next, std::min(round.next + size, round.batch.size)};
      round.next = range.second;
    }
  }
  TakeSubBatch(round.batch, range.first, range.second, worker.batch);
  return true;
}

/// A device has failed: the others take its range and go on. False if there is no other, or if it
/// was a CPU thread.
bool Hogbatch::Drop(Worker& worker, Round& round, std::pair<int64_t, int64_t> range,
                    const char* why) {
  if (worker.plans) return false;
  std::unique_ptr<DeviceReplica> dropped;  // waits for what is under way, without the lock
  const std::lock_guard lock(mutex_);
  const auto left = std::ranges::count_if(
      workers_, [](const auto& each) { return each->plans || each->replica; });
  if (left < 2) return false;
  LogGoingOnWithout(worker.replica->device(), why);
  dropped = std::move(worker.replica);
  round.returned.push_back(range);
  return true;
}

/// One update. Returns false if the loss is not finite; then nothing has changed.
bool Hogbatch::Update(int i, Round& round) {
  Worker& worker = *workers_[i];
  const double size = static_cast<double>(worker.batch.size);
  const int64_t meant = settings_.rate_examples > 0 ? settings_.rate_examples : round.batch.size;
  const double share = settings_.scale_rate ? std::min(1.0, size / static_cast<double>(meant)) : 1;
  const double loss = Gradient(i, round, {.learning_rate = round.learning_rate * share});
  worker.loss += loss * size;  // not finite: it stays so
  worker.examples += worker.batch.size;
  return std::isfinite(loss);
}

/// Computes a gradient and applies it, unless the loss is not finite. Returns the loss.
double Hogbatch::Gradient(int i, Round& round, const UpdateStep& settings) {
  Worker& worker = *workers_[i];
  const ParamLayout& layout = *round.params.layout;
  UpdateStep step = settings;
  ParamView view = round.params;
  view.gradients = &worker.gradients;
  view.states = worker.plans ? states_.of(i) : nullptr;
  view.update = {.factor = static_cast<float>(-step.learning_rate), .writer = i};
  float* target = view.writable.Host().data();
  GraphPlan* plan = nullptr;
  double loss = 0;
  if (worker.plans) {
    plan = &worker.plans->For(worker.batch.size);
    plan->Forward(worker.batch, view);
    loss = plan->Loss();
  } else {
    float* const own = worker.replica->values().data();
    CopyShared(round.params.values.Host().data(), layout.size(), own);
    loss = worker.replica->Step(worker.batch, worker.gradients).loss;
    if (settings_.overwrite) target = own;
  }
  if (!std::isfinite(loss)) return loss;
  step.step = round.first_step + ++round.updates;
  const GradientReady apply = [&](int slice) {
    updates_.Apply(slice, target, worker.gradients, step);
  };
  if (plan) plan->Backward(worker.batch, view, context_.clip_norm > 0 ? GradientReady() : apply);
  if (plan && context_.clip_norm <= 0) return loss;  // each slice while its gradient is in cache
  if (context_.clip_norm > 0) {
    const double norm = GradientNorm(layout, worker.gradients);
    if (norm > context_.clip_norm) step.gradient_scale = context_.clip_norm / norm;
  }
  AnnounceAll(layout, apply);
  if (plan) return loss;
  const int64_t first = layout.statistics_begin();
  float* const shared = round.params.writable.Host().data();
  if (settings_.overwrite) CopyShared(target, first, shared);
  CopyShared(worker.replica->statistics().data(), layout.size() - first, shared + first);
  return loss;
}

std::string Hogbatch::FirstNonFinite() const {
  for (const auto& worker : workers_)
    if (!std::isfinite(worker->loss))
      return worker->plans ? worker->plans->FirstNonFinite() : worker->replica->FirstNonFinite();
  return "";
}

Value Hogbatch::State() const {
  if (context_.devices.size() < 2) return Value(Table{});
  Table batches;
  for (size_t d = 0; d < context_.devices.size(); ++d)
    batches.push_back({context_.devices[d]->name(), sizes_.State(d)});
  return Table{{"devices", times_.State()}, {"batches", batches}};
}

void Hogbatch::Restore(const Value& state) {
  states_.Renew();
  if (const Value* devices = state.Find("devices")) times_.Restore(*devices);
  const Value* batches = state.Find("batches");
  if (!batches) return;
  measured_ = true;
  for (size_t d = 0; d < context_.devices.size(); ++d)
    if (const Value* kept = batches->Find(context_.devices[d]->name()))
      sizes_.Restore(d, *kept);
    else
      measured_ = false;
}

}  // namespace yoke
