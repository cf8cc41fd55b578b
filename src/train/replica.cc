// Replica: builds the parts that a job names.
#include "train/replica.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/registry.h"
#include "comm/virtual_time.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "model/layer.h"
#include "node/plans.h"
#include "optim/captured_update.h"
#include "optim/rule.h"
#include "strategy/statistics.h"
#include "tensor/counting.h"
#include "train/checkpoint/checkpoint.h"
#include "train/exchange.h"
#include "train/job/parts.h"
#include "train/start.h"

namespace yoke {
namespace {

Rounding RoundingOf(const Job& job) {
  const bool nearest = job.train.Has("rounding") && job.train.String("rounding") == "nearest";
  return {.stochastic = !nearest, .seed = job.seed()};
}

template <typename T>
std::span<std::byte> BytesOf(T* values, int64_t count) {
  return std::as_writable_bytes(std::span(values, static_cast<size_t>(count)));
}

}  // namespace

Replica::Replica(const Job& job, const DataInfo& data, const ReplicaPlace& setting)
    : job_(job),
      devices_(DevicesOf(job, setting.world, setting.local)),
      world_(setting.world.Duplicate()),
      node_(InVirtualTime(world_) ? std::optional(world_.Duplicate()) : std::nullopt),
      entry_(StrategyOf(job)),
      threads_(setting.threads),
      step_examples_(setting.step_examples),
      layers_(ModelLayers(job.model(), TaskOf(data))),
      in_training_(WithLossSettings(layers_, job, setting.class_weights, TaskOf(data))),
      graph_(in_training_, TaskOf(data), RowTypeOf(job)),
      values_device_(InVirtualTime(world_) ? Cpu() : ValuesDevice(job, devices_)),
      params_(graph_.layout(), values_device_),
      states_(graph_.MakeStates()),
      gradients_(graph_.layout(), values_device_),
      rule_(RuleOf(job)),
      state_(graph_.layout(), *rule_, values_device_, RoundingOf(job)) {
  RequireParameters(graph_);
  RequirePrecision(job, devices_);
  RequireRowType(job, layout(), devices_);
  RequireDevicesOfHead(job);
  TouchFirst(params_);
  Initialize(params_, job.seed(), KernelThreads());
  HostCopies copies;
  CopyFileWeights(job.model(), TaskOf(data), layout(), copies.Of(params_.values()).data());
  copies.Write();
  state_.SetSlices(layout(), SliceSettingsOf(job, layout()));
  executor_ = MakeExecutor(WorkOf(graph_));
  head_ = OfferHead(WorkOf(graph_));
  const StrategyContext context = {.world = setting.world.Duplicate(),
                                   .params = params_,
                                   .gradients = gradients_,
                                   .rule = *rule_,
                                   .state = state_,
                                   .clip_norm = job.train.Float("clip_norm"),
                                   .updated_in_place = executor_->in_place(),
                                   .seed = job.seed(),
                                   .steps_per_epoch = setting.steps_per_epoch,
                                   .head = head_ ? &*head_ : nullptr};
  Require(
      entry_.in_place || !executor_->in_place(),
      "{}: strategy {} needs each step's gradient, and executor {} updates the values itself; use "
      "executor single or split",
      job.cluster.Where("strategy"), entry_.name, job.node.String("executor"));
  strategy_ = entry_.make(job.cluster, context);
  if (InVirtualTime(world_) && !executor_->in_place())
    WorkInVirtualTime(data, setting.steps_per_epoch * BatchOf(job), *setting.shared);
  step_.emplace(ReplicaStep::Parts{
      .executor = *executor_,
      .strategy = *strategy_,
      .states = &states_,
      .complete = [this](int slice) { ClearFrozen(layout(), state_, slice, gradients_); },
      .skips_impossible = world_.size() == 1});
  if (job.train.Has("average")) {
    RequireRunningMean(job, executor_->in_place(), layout());
    average_.emplace(job.train.Float("average"), params_.values());
  }
}

ExecutorContext Replica::WorkOf(const Graph& graph) {
  const bool alone = world_.size() == 1 && !values_device_.IsHost();
  return {.graph = graph,
          .batch = BatchOf(job_),
          .step_examples = step_examples_,
          .arithmetic = ArithmeticOf(job_),
          .reference_kernels = job_.ReferenceKernels(),
          .devices = devices_.all(),
          .device_timeout = job_.node.Float("device_timeout"),
          .values_device = &values_device_,
          .threads = threads_,
          .node = node_,
          .rule = rule_.get(),
          .state = &state_,
          .clip_norm = job_.train.Float("clip_norm"),
          .stop = alone ? &state_.on_device()->stop : nullptr};
}

std::unique_ptr<Executor> Replica::MakeExecutor(const ExecutorContext& work) const {
  const bool serves = OnlyServes(job_, world_);
  const ExecutorEntry& entry =
      FindEntry(executors(), "executor", serves ? "single" : job_.node.String("executor"));
  const std::string reason = entry.supports(work.devices);
  Require(reason.empty(), "{}: executor {} {}",
          job_.node.Where(AskedDevices().empty() ? "executor" : "devices"), entry.name, reason);
  const std::string unlike = entry.trains ? entry.trains(graph_) : "";
  Require(unlike.empty(), "{}: executor {} {}", job_.node.Where("executor"), entry.name, unlike);
  return entry.make(serves ? Options() : job_.node, work);
}

void Replica::WorkInVirtualTime(const DataInfo& data, int64_t examples, SharedExecutor& shared) {
  std::shared_ptr<Executor> inner = std::move(executor_);
  const bool cpu_only = devices_.all() == std::vector<Device*>{&Cpu()};
  if (!strategy_->RemoteHead() && cpu_only) {
    if (!shared.executor) {
      ExecutorContext work =
          WorkOf(shared.graph.emplace(in_training_, TaskOf(data), RowTypeOf(job_)));
      work.rule = nullptr;  // it outlives this replica
      work.state = nullptr;
      shared.executor = MakeExecutor(work);
    }
    inner = shared.executor;
  }
  auto charged = std::make_unique<ChargedExecutor>(std::move(inner), graph_, world_,
                                                   devices_.all()[0]->name());
  charged->InParts(ChipPartsOf(job_.node, graph_.task(), examples));
  executor_ = std::move(charged);
}

void Replica::Prepare() {
  strategy_->Prepare();
  if (CapturedUpdate* const update = state_.captured(); update && strategy_->UpdatesFirst())
    update->Allow();
}

StateTensor Replica::WeightsTensor(HostCopies& copies) const {
  const std::span<float> values = copies.Of(params_.values());
  return {"weights", DType::kF32, Shape{std::ssize(values)}, values.data()};
}

std::vector<StateTensor> Replica::SavedTensors(HostCopies& copies) const {
  std::vector<StateTensor> tensors = LayerTensors();
  if (average_) tensors.push_back(WeightsTensor(copies));
  return tensors;
}

std::vector<std::span<std::byte>> Replica::Portable(HostCopies& copies) {
  std::vector<std::span<std::byte>> parts = {BytesOf(&state_.steps, 1),
                                             std::as_writable_bytes(copies.Of(params_.values()))};
  if (average_) parts.push_back(std::as_writable_bytes(copies.Of(average_->values())));
  for (size_t i = 0; i < state_.names().size(); ++i)
    parts.push_back(std::as_writable_bytes(copies.Of(state_.array(static_cast<int>(i)))));
  parts.push_back(std::as_writable_bytes(state_.all_scalars()));
  for (size_t i = 0; i < layout().slices().size(); ++i)
    parts.push_back(std::as_writable_bytes(copies.Of(state_.row_steps(static_cast<int>(i)))));
  for (const std::span<std::byte> layer : Layers()) parts.push_back(layer);
  return parts;
}

std::vector<std::span<std::byte>> Replica::Layers() const {
  std::vector<std::span<std::byte>> layers;
  for (const StateTensor& tensor : LayerTensors())
    layers.push_back(
        BytesOf(static_cast<std::byte*>(tensor.data), tensor.shape.Count() * SizeOf(tensor.type)));
  return layers;
}

std::string Replica::TakeStart(const DataInfo& data) {
  HostCopies copies;
  std::string sentence = CopyStart({.model = job_.model(),
                                    .data = data,
                                    .layers = layers_,
                                    .layout = layout(),
                                    .values = copies.Of(params_.values()).data()});
  copies.Write();
  if (average_) average_->Restart(params_.values());
  Restored();
  return sentence;
}

/// True if they came from another rank.
bool Replica::BroadcastFrom(int from) {
  if (world_.size() == 1) return false;
  HostCopies copies;
  for (const std::span<std::byte> part : Portable(copies)) world_.Broadcast(part, from);
  if (world_.rank() == from) return false;
  copies.Write();
  return true;
}

void Replica::Rescue(SurvivorState& survivor) {
  const Strategy::Rescued rescued = strategy_->Recover();
  if (rescued.values.data) Copy(params_.values(), rescued.values);
  HostCopies copies;
  for (const std::span<std::byte> part : Portable(copies))
    survivor.parts.emplace_back(part.begin(), part.end());
  survivor.model = rescued.values.data || !entry_.replicas_differ;
  survivor.version = rescued.version;
  survivor.executor = executor_->State();
}

void Replica::TakeUp(const SurvivorState* mine, const RecoveryPlan& recovery) {
  const bool has = mine && mine->worlds > 0;
  if (has) {
    HostCopies copies;
    const std::vector<std::span<std::byte>> parts = Portable(copies);
    for (size_t i = 0; i < parts.size(); ++i)
      std::copy(mine->parts[i].begin(), mine->parts[i].end(), parts[i].begin());
    copies.Write();
    executor_->Restore(mine->executor);
  }
  if (recovery.mean) TakeMean(has);
  BroadcastFrom(recovery.source);
  Restored();
}

/// Replaces the values by the mean over the ranks with `counts`.
void Replica::TakeMean(bool counts) {
  HostCopies copies;
  const std::span<float> values = copies.Of(params_.values());
  std::vector<float> sums(values.begin(), values.end());
  if (!counts) std::ranges::fill(sums, 0.0F);
  sums.push_back(counts ? 1 : 0);
  world_.AllReduce(sums);
  std::ranges::copy(sums.begin(), sums.end() - 1, values.begin());
  Divide(values, sums.back());
  copies.Write();
}

void Replica::Restored() {
  params_.Publish();
  for (size_t node = 0; node < states_.size(); ++node)
    if (LayerState* state = states_.of(node)) state->Restored();
}

void Replica::RequireTraining(int64_t step, int64_t rest) const {
  const int64_t smallest = executor_->SmallestBatch(step, rest);
  if (smallest > 1) return;
  graph_.Compile({.batch = smallest,
                  .training = true,
                  .arithmetic = ArithmeticOf(job_),
                  .target = {.reference = job_.ReferenceKernels()}});
}

StepResult Replica::RunRound(WorkSource& source, const ParamView& view) {
  const CountedAs scope("gradient");
  return executor_->RunRound(source, view);
}

StepResult Replica::Step(const Batch& batch, StrategyStep step) {
  const double began = Now();
  double computed = began;
  step.examples = static_cast<int64_t>(batch.examples.size());
  const int64_t updates = average_ ? state_.steps : 0;  // a server's thread may count others'
  const StepResult result = step_->Take(batch, step, [&computed] { computed = Now(); });
  if (average_ && state_.steps > updates) average_->Move(params_.values(), state_.steps);
  const double ended = Now();
  step_seconds_ += ended - began;
  update_seconds_ += ended - computed;
  return result;
}

std::optional<StepResult> Replica::LateResult(bool wanted) {
  const CountedAs scope("late loss");
  return executor_->LateResult(wanted);
}

LayerReport Replica::TakeLayerReport() {
  LayerReport report;
  const double all = std::exchange(step_seconds_, 0), update = std::exchange(update_seconds_, 0);
  double others = all - update;
  const std::vector<LayerInfo> infos = graph_.Info();
  for (size_t node = 0; node < states_.size(); ++node) {
    auto* const counts = dynamic_cast<LayerCounts*>(states_.of(node));
    if (!counts) continue;
    others -= counts->Seconds();
    Metrics taken = counts->TakeCounts();
    if (!taken.empty()) report.layers.emplace_back(infos[node].name, std::move(taken));
  }
  if (!report.layers.empty() && all > 0)
    report.step_seconds = {{"all", all}, {"update", update}, {"other_layers", others}};
  return report;
}

void Replica::Settle() {
  const CountedAs scope("meeting");
  strategy_->Quiesce();
  if (average_) RunningStatistics(layout()).Average(world_, average_->values());
  model_values_ = average_ ? average_->values() : strategy_->Model();
  model_ = model_copy_.Read(model_values_);
  TakeLayers();
}

/// A server's own layers are not trained, so it gets the first worker's for checkpoints.
void Replica::TakeLayers() {
  const int servers = entry_.servers(job_.cluster, world_.size());
  for (const std::span<std::byte> layer : Layers())
    if (world_.rank() < servers)
      world_.Receive(layer, servers, 0);
    else if (world_.rank() == servers)
      for (int server = 0; server < servers; ++server) world_.Send(layer, server, 0);
}

Metrics Replica::Exchange(double seconds, double step_seconds) const {
  if (world_.size() == 1) return {};
  const double distance =
      entry_.replicas_differ
          ? ConsensusDistance(world_, params_.values().First(layout().statistics_begin()))
          : 0;
  std::vector<ExchangeCounts> all = GatherCounts(world_, strategy_->Counts());
  if (world_.rank() > 0) return {};
  ExchangeSummary summary = Summary(all, seconds, entry_.servers(job_.cluster, world_.size()));
  summary.consensus_distance = distance;
  summary.step_seconds = step_seconds;
  return MetricsOf(summary);
}

/// The parameter with the first non-finite value, or "".
std::string Replica::BadIn(Array<const float> values) const {
  const int64_t at = yoke::FirstNonFinite(values);
  const auto bad = [&](const Slice& slice) {
    if (slice.type != DType::kBf16) return at >= slice.offset && at < slice.offset + slice.Count();
    const auto* rows = reinterpret_cast<const Bf16*>(values.Host().data() + slice.offset);
    return yoke::FirstNonFinite({rows, static_cast<size_t>(slice.Count())}) >= 0;
  };
  const auto slice = std::ranges::find_if(layout().slices(), bad);
  return slice == layout().slices().end() ? "" : slice->name;
}

std::string Replica::FirstNonFinite() const {
  const std::string parameter = BadIn(params_.values());
  return parameter.empty() ? executor_->FirstNonFinite() : parameter;
}

Metrics Replica::Evaluate(const Reader& reader, const std::atomic<int>* stop,
                          int64_t sample_of) const {
  return Measure(model_values_, reader, stop, sample_of);
}

Metrics Replica::EvaluateOwn(const Reader& reader) const {
  const CountedAs scope("evaluation");
  return Measure(params_.values(), reader, nullptr, /*sample_of=*/0);
}

Metrics Replica::Measure(Array<const float> values, const Reader& reader,
                         const std::atomic<int>* stop, int64_t sample_of) const {
  const ParamView view{.layout = &layout(), .values = values};
  return yoke::Evaluate(reader, {.graph = graph_,
                                 .params = view,
                                 .arithmetic = ArithmeticOf(job_),
                                 .reference_kernels = job_.ReferenceKernels(),
                                 .threads = threads_.threads,
                                 .sample_of = sample_of,
                                 .stop = stop});
}

MemoryUse Replica::Memory() const {
  return {.parameters = params_.bytes(),
          .rule_state = state_.bytes() + AverageBytes(),
          .tables = states_.Bytes(),
          .gradients = gradients_.bytes()};
}

void Replica::Describe(CheckpointHeader& header) const {
  // A checkpoint contains the layers, so it does not depend on the model's file or start.
  if (job_.model().Find("file") || job_.model().Find("start"))
    header.job.Set("model", Table{{"layer", layers_}});
  header.rule_steps = state_.steps;
  header.executor = executor_->State();
  header.strategy = strategy_->State();
}

bool Replica::KeepsOwn() const {
  return (world_.size() > 1 && entry_.replicas_differ) || !strategy_->Tensors().empty();
}

std::vector<StateTensor> Replica::OwnTensors(HostCopies& copies) {
  const CountedAs scope("checkpoint");
  std::vector<StateTensor> tensors;
  const auto floats = [&tensors](const std::string& name, std::span<float> values) {
    tensors.push_back({name, DType::kF32, Shape{std::ssize(values)}, values.data()});
  };
  if (entry_.replicas_differ) {
    floats("values", copies.Of(params_.values()));
    for (size_t i = 0; i < state_.names().size(); ++i)
      floats("rule." + state_.names()[i], copies.Of(state_.array(static_cast<int>(i))));
    if (!state_.all_scalars().empty()) floats("rule.numbers", state_.all_scalars());
    for (size_t i = 0; i < layout().slices().size(); ++i) {
      const std::span<int32_t> clocks = copies.Of(state_.row_steps(static_cast<int>(i)));
      if (!clocks.empty())
        tensors.push_back({layout().slices()[i].name + ".row_steps", DType::kI32,
                           Shape{std::ssize(clocks)}, clocks.data()});
    }
  }
  if (entry_.replicas_differ)
    for (StateTensor& tensor : LayerTensors()) {
      tensor.name = "layers." + tensor.name;
      tensors.push_back(tensor);
    }
  for (const Strategy::SavedTensor& saved : strategy_->Tensors())
    floats("strategy." + saved.name, copies.Of(saved.values));
  return tensors;
}

double Replica::CheckpointBytes() {
  const auto sum = [](const std::vector<StateTensor>& tensors) {
    int64_t bytes = 0;
    for (const StateTensor& tensor : tensors) bytes += tensor.shape.Count() * SizeOf(tensor.type);
    return bytes;
  };
  HostCopies copies;
  const int64_t own = KeepsOwn() ? world_.size() * sum(OwnTensors(copies)) : 0;
  return static_cast<double>(params_.bytes() + state_.bytes() + sum(LayerTensors()) +
                             AverageBytes() + own);
}

void Replica::Restore(const CheckpointHeader& header) {
  if (SameKey(job_, header, "node", "executor")) executor_->Restore(header.executor);
  if (GoesOnExactly(job_, header)) strategy_->Restore(header.strategy);
}

/// A velocity of the other kind would be used at the wrong length.
void Replica::RequireSameVelocity(const Checkpoint& checkpoint) const {
  if (state_.names().size() != 1) return;
  const bool steps = state_.names()[0] == "velocity";
  Require(!checkpoint.HasState(steps ? "momentum" : "velocity"),
          "{}: its velocity sums {} and this job's sums {}: leave train.velocity out",
          checkpoint.folder(), steps ? "gradients" : "steps", steps ? "steps" : "gradients");
}

/// The checkpoint's model is the average, and its weights are beside it.
void Replica::TakeAverage(const Checkpoint& checkpoint) {
  if (!average_) return;
  average_->Restart(params_.values());
  HostCopies copies;
  if (checkpoint.Load({WeightsTensor(copies)})) copies.Write();
  params_.Publish();
}

bool Replica::Restore(const Checkpoint& checkpoint) {
  const CheckpointHeader& header = checkpoint.header();
  checkpoint.Load(params_);
  TakeAverage(checkpoint);
  if (SameKey(job_, header, "train", "rule") && !checkpoint.Load(layout(), state_))
    RequireSameVelocity(checkpoint);
  const bool layers = checkpoint.Load(LayerTensors());
  if (layers) Restored();
  Restore(header);
  return layers && (header.position.step == 0 || TablesAreReady(states_));
}

}  // namespace yoke
