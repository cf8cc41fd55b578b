// Hardware efficiency: estimates of one node, and some steps of the strategy in virtual time.
#include "plan/hardware.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/registry.h"
#include "measure/speed_fit.h"
#include "node/executor.h"
#include "simulate/simulate.h"
#include "strategy/served.h"
#include "train/job/devices.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr const char* kWhole = "single";  // the executor that times only takes
/// Steps of each replica in virtual time: many of a few, 20 of many.
constexpr int64_t kReplicaSteps = 4000, kLeastSteps = 20, kMostSteps = 200;
constexpr int64_t kMostPeriodSteps = 10000;

/// The curve of the device that computes, or of a node's two rates.
std::map<std::string, SpeedCurve> CurvesOf(const NodeKind& kind) {
  std::map<std::string, SpeedCurve> curves(kind.curves.begin(), kind.curves.end());
  if (curves.empty())
    curves["cpu"] = {.operations_per_second = kind.operations_per_second,
                     .bytes_per_second = kind.bytes_per_second,
                     .threads = std::max(1, kind.threads)};
  if (const auto any = curves.find(""); any != curves.end()) curves.emplace("cpu", any->second);
  return curves;
}

/// The job whose step one device takes whole: its own one, or the CPU in place of several.
Job OnOneDevice(const Job& job) {
  Overrides keys = {PlanKey("node.executor", kWhole, /*text=*/true)};
  if (DevicesOf(job).all().size() > 1)
    keys.push_back(PlanKey("node.devices", "cpu", /*text=*/true));
  return WithKeys(job, keys);
}

/// The part of the rate with which a server takes each of its teams' gradients: so large a part of
/// an update it is.
double PartOfRate(const Job& job, int64_t teams) {
  if (!HasServerOptions(StrategyOf(job))) return 1;
  return EffectiveRateScale(job.cluster, *RuleOf(job), job.train.Float("learning_rate"),
                            static_cast<int>(teams));
}

}  // namespace

ClusterFile Slowed(ClusterFile cluster, double factor) {
  for (NodeKind& kind : cluster.kinds) {
    for (auto& [device, curve] : kind.curves) curve = Slower(curve, factor);
    kind.operations_per_second /= factor;
    kind.bytes_per_second /= factor;
  }
  return cluster;
}

Hardware::Hardware(const Job& job, const DataSets& data,
                   const std::map<std::string, ClusterFile>& clusters)
    : job_(job), data_(data), clusters_(clusters) {}

Price Hardware::Of(const Candidate& candidate) const {
  const ClusterFile machine = MachineOf(candidate);
  const Job its = JobOf(job_, candidate);
  const Node node = NodeOf(its, machine);
  if (its.cluster.Int("replicas") == 1)
    return {.seconds_per_update = node.seconds,
            .examples_per_update = static_cast<double>(its.train.Int("batch")),
            .use = node.use};
  const Job whole = OnOneDevice(its);
  const double factor = node.seconds / NodeOf(whole, machine).seconds;
  return InVirtualTime(whole, Slowed(machine, factor), node.use);
}

/// As measured in the candidate's shape, or divided as a file's growth says.
ClusterFile Hardware::MachineOf(const Candidate& candidate) const {
  const auto own = clusters_.find(MachineKey(candidate.precision, candidate.shape));
  if (own != clusters_.end()) return own->second;
  const auto known = clusters_.find(candidate.precision);
  Require(known != clusters_.end(), "the speed of {} is not known here", candidate.precision);
  Require(candidate.shape.IsOwn() || TeamsDiffer(known->second),
          "the speed of {} is not known here", MachineKey(candidate.precision, candidate.shape));
  return candidate.shape.replicas ? DividedAmong(known->second, candidate.shape.teams)
                                  : known->second;
}

Hardware::Node Hardware::NodeOf(const Job& job, const ClusterFile& cluster) const {
  const ExecutorEntry& entry = FindEntry(executors(), "executor", job.node.String("executor"));
  Require(entry.estimate, "executor {} has no estimate", entry.name);
  const Graph graph = BuildModel(job.model(), TaskOf(data_.train->Info()), RowTypeOf(job));
  const std::unique_ptr<UpdateRule> rule = RuleOf(job);
  const int64_t batch = BatchOf(job), epoch = data_.train->Size();
  const Devices devices = DevicesOf(job);
  const std::string values_device = ValuesDevice(job, devices).name();
  EstimateRequest request = {
      .graph = graph,
      .update = CostOfUpdate(RuleState(graph.layout(), *rule, Cpu()), graph.layout().dense_size()),
      .batch = batch,
      .step_examples =
          entry.step_examples ? entry.step_examples(job.node, batch, epoch) : int64_t{0},
      .epoch = epoch,
      .devices = devices.names(),
      .values_device = values_device,
      .speeds = CurvesOf(cluster.kinds[0])};
  std::vector<std::string> needed = request.devices;
  needed.emplace_back("cpu");
  for (const std::string& device : needed)
    Require(request.speeds.contains(device), "the speed of device {} is not known", device);
  const ExecutorEstimate estimate = entry.estimate(job.node, request);
  Node node = {.seconds = estimate.seconds_per_example * static_cast<double>(batch),
               .use = {.batch = static_cast<double>(batch)}};
  if (!entry.in_place) {
    node.seconds +=
        request.Seconds(request.update, {.device = values_device, .examples = kManyExamples});
    return node;
  }
  double examples = 0,
         updates = 0;  // per second; with a part of the rate it is a part of an update
  for (const ExecutorEstimate::Device& device : estimate.devices) {
    const double part = std::min(1.0, device.examples_per_update / static_cast<double>(batch));
    examples += device.updates_per_second * device.examples_per_update;
    updates += device.updates_per_second * (estimate.scales_rate ? part : 1);
  }
  const auto workers = request.Workers() + std::ssize(request.devices) - 1;
  if (updates > 0)
    node.use = {.batch = examples / updates, .staleness = static_cast<double>(workers - 1)};
  return node;
}

Price Hardware::InVirtualTime(const Job& job, const ClusterFile& cluster,
                              const ExampleUse& node) const {
  const auto ranks = static_cast<int>(job.cluster.Int("replicas"));
  const StrategyEntry& strategy = StrategyOf(job);
  const Roles roles = RolesOf(job);
  const int64_t teams = roles.workers / roles.team;
  const int64_t of_all = BatchOf(job) * roles.workers;  // examples
  const int64_t period = strategy.period(job.cluster, (data_.train->Size() + of_all - 1) / of_all);
  const int64_t some = std::clamp(kReplicaSteps / ranks, kLeastSteps, kMostSteps);
  // Whole periods: a part of one would cost no exchange.
  const int64_t each = std::min(kMostPeriodSteps, (some + period - 1) / period * period);
  SimulatedCluster simulated = {
      .machines = cluster.Simulated(job.seed()),
      .checkpoint_bytes_per_second = cluster.failures.checkpoint_bytes_per_second};
  simulated.machines.failures = {};  // the price is that of work which is not lost
  const Job unlimited = WithKeys(
      job, {PlanKey("train.time_limit", ""), PlanKey("train.evaluate_every", "1000000"),
            PlanKey("checkpoint.every_steps", "0"), PlanKey("checkpoint.every_minutes", "0.0")});
  const TimedResult times =
      SimulateTimes(unlimited, {.steps = each * teams, .cluster = &simulated}, data_);
  const ExchangeSummary& exchange = times.exchange;
  const auto steps = static_cast<double>(times.steps) / static_cast<double>(teams);
  const auto every = static_cast<double>(job.checkpoint.Int("every_epochs"));
  const double checkpoint = every > 0 ? *exchange.checkpoint_seconds / every : 0;
  Price price = {.seconds_per_update = *exchange.step_seconds / steps,
                 .examples_per_update = static_cast<double>(of_all),
                 .epoch_seconds = *exchange.meeting_seconds + checkpoint,
                 .use = {.batch = std::min(node.batch * roles.team / PartOfRate(job, teams),
                                           node.batch * roles.workers),
                         .staleness = node.staleness + exchange.staleness_mean.value_or(0)}};
  if (strategy.replicas_differ) {  // their mean is the model: all examples count together
    price.use.batch = node.batch * roles.workers;
    // Updates of all, or of the mean.
    price.use.interval = exchange.updates ? steps / *exchange.updates : steps;
  } else if (exchange.updates) {
    price.use.interval = *exchange.effective_batch / static_cast<double>(of_all);
  }
  price.use.interval = std::max(price.use.interval, static_cast<double>(period));
  price.use.mixing = strategy.mixing(job.cluster, ranks, job.train.Float("learning_rate"));
  return price;
}

}  // namespace yoke
