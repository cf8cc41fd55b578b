// MakePlan: machines, convolutions, noise scale, search.
#include "plan/planner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/registry.h"
#include "comm/launcher.h"
#include "comm/threads.h"
#include "kernels/threads.h"
#include "plan/choice.h"
#include "plan/contention.h"
#include "plan/convolutions.h"
#include "plan/hardware.h"
#include "plan/omnivore.h"
#include "plan/statistics.h"
#include "plan/world_profile.h"
#include "tensor/devices.h"
#include "train/job/devices.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr double kSearchTimeout = 600;   // of ranks that wait for the search
constexpr double kForCalibration = 0.4;  // beside the time of a profile
constexpr double kLeastFactor = 1.05;    // that is worth a note
constexpr double kForShape = 1.0 / 3;    // of the time of a profile

/// The precisions worth a measurement: bf16 only where the CPU is faster with it.
std::vector<std::string> PrecisionsOf(const Job& job, const Choices& choices) {
  std::vector<std::string> precisions = {job.node.String("precision")};
  if (!Contains(choices.open, "node.precision")) return precisions;
  const std::string other = precisions[0] == "f32" ? "bf16" : "f32";
  if (IsFastHere(other)) precisions.push_back(other);
  std::erase_if(precisions, [&](const std::string& one) { return Contains(choices.without, one); });
  return precisions;
}

std::string MachineText(const Job& job) {
  const int64_t replicas = job.cluster.Int("replicas");
  const int threads = job.Plan({.rank = 0, .size = static_cast<int>(replicas)}).threads;
  return fmt::format("{} replica{} of {} thread{}", replicas, replicas == 1 ? "" : "s", threads,
                     threads == 1 ? "" : "s");
}

/// About the time to send values and the rule's state to all replicas of a cluster, and back: what
/// it takes to begin from a checkpoint and to write one.
double RestartSeconds(const Job& job, const Reader& data, const ClusterFile& cluster) {
  const Graph graph = BuildModel(job.model(), TaskOf(data.Info()));
  const auto arrays = static_cast<double>(1 + RuleOf(job)->StateNames().size());
  const auto values = static_cast<double>(graph.layout().dense_size() * SizeOf(DType::kF32));
  const auto slowest =
      std::ranges::min_element(cluster.kinds, {}, &NodeKind::network_bytes_per_second);
  return 2 * static_cast<double>(cluster.Ranks()) * arrays * values /
         slowest->network_bytes_per_second;
}

Plan SearchOn(const PlanOrder& order, const DataSets& data,
              const std::map<std::string, ClusterFile>& machines, const std::string& from,
              double trial_seconds) {
  const double noise =
      MeasureNoiseScale(order.job, *data.train, from.empty() ? "" : from + "/last");
  if (noise > 0)
    order.tell(fmt::format(
        "the gradient's noise scale is {:.0f} examples{}", noise,
        from.empty() ? fmt::format(" at first, taken to average {:.0f}", kNoiseGrowth * noise)
                     : ""));
  const std::string path = EfficiencyPath(order.job);
  const Efficiency before = ReadEfficiency(path);
  Plan plan =
      Search({.job = order.job,
              .data = data,
              .run = order.run,
              .peers = order.peers,
              .machines = machines,
              .choices = order.choices,
              .noise_scale = noise,
              .efficiency = before,
              .trial_seconds = trial_seconds,
              .trial_share = order.trial_share,
              .update_seconds = order.example_seconds * ExamplesPerUpdate(order.job),
              .restart_seconds =
                  order.run.cluster ? RestartSeconds(order.job, *data.train, *order.cluster) : 0,
              .tunes_momentum = order.tunes_momentum,
              .rate_of = order.rate_of,
              .from = from,
              .in_pause = order.in_pause,
              .folder = order.folder,
              .tell = order.tell});
  if (plan.efficiency != before) WriteEfficiency(plan.efficiency, path);
  plan.machine = order.cluster ? order.cluster_name : MachineText(order.job);
  return plan;
}

/// Of the order's cluster.
std::map<std::string, ClusterFile> MachinesOf(const PlanOrder& order) {
  return {{order.job.node.String("precision"), *order.cluster}};
}

/// Of the replicas of a job, which are threads, with this executor.
std::map<std::string, ClusterFile> MeasureThreads(const Job& job, const Reader& data,
                                                  const std::vector<std::string>& precisions,
                                                  const Measuring& measuring,
                                                  const std::string& executor) {
  std::map<std::string, ClusterFile> machines;
  RunThreads({.ranks = static_cast<int>(job.cluster.Int("replicas")), .timeout = kSearchTimeout},
             [&](const Communicator& world) {
               const auto found =
                   MeasureMachines(job, data, precisions, world, measuring, executor);
               if (world.rank() == 0) machines = found;
             });
  return machines;
}

/// The candidates whose shape is to be measured, one for each and each precision.
std::vector<Candidate> UnmeasuredShapes(const PlanOrder& order,
                                        const std::vector<std::string>& precisions) {
  std::map<std::string, Candidate> first;
  for (const Candidate& one : MakeCandidates(order.job, order.choices))
    if (!one.shape.IsOwn() && one.IsLeft() && Contains(precisions, one.precision))
      first.emplace(MachineKey(one.precision, one.shape), one);
  std::vector<Candidate> shapes;
  shapes.reserve(first.size());
  for (const auto& [key, one] : first) shapes.push_back(one);
  return shapes;
}

/// Its choices take note of the shapes that could not be measured.
std::map<std::string, ClusterFile> MeasureHere(PlanOrder& order, const DataSets& data) {
  const auto precisions = PrecisionsOf(order.job, order.choices);
  const std::vector<Candidate> shapes = UnmeasuredShapes(order, precisions);
  // In training they take no longer together than a precision.
  const double part = 1.0 / static_cast<double>(std::max<size_t>(1, shapes.size()));
  const double for_shape =
      order.profile_seconds * (order.tries_replicas ? kForShape : std::min(kForShape, part));
  order.tell(fmt::format("measuring {}, about {:.0f} s",
                         order.peers ? "the machines of these processes" : "this machine",
                         order.profile_seconds * static_cast<double>(precisions.size()) +
                             for_shape * static_cast<double>(shapes.size())));
  Measuring measuring = {.seconds = order.profile_seconds, .stop = order.run.stop_signal};
  if (order.peers) return order.peers->Measure(order.job, *data.train, precisions, measuring);
  auto machines = MeasureThreads(order.job, *data.train, precisions, measuring, "single");
  measuring.seconds = for_shape;
  for (const Candidate& one : shapes) {
    if (order.run.StopIsAsked()) break;
    const std::string key = MachineKey(one.precision, one.shape);
    try {
      machines[key] = MeasureThreads(JobOf(order.job, one), *data.train, {one.precision}, measuring,
                                     one.executor)
                          .at(one.precision);
    } catch (const Error& failed) {
      order.choices.unmeasured[key] = failed.what();
    }
  }
  return machines;
}

/// The keys that give convolutions whose algorithm the job leaves open a faster one than their own
/// choice in this precision, and a sentence; or none. One replica's threads measure.
std::pair<Overrides, std::string> FastestConvolutions(const Job& given,
                                                      const std::string& precision,
                                                      const Reader& data) {
  const Job job = WithKeys(given, {PlanKey("node.precision", precision, /*text=*/true)});
  const Devices devices = DevicesOf(job);
  const Value* own = job.model().Find("algorithms");
  if (devices.all() != std::vector<Device*>{&Cpu()} || job.ReferenceKernels() ||
      (own && !own->AsTable()->empty()))
    return {};
  SetKernelThreads(job.Plan({.rank = 0, .size = int(job.cluster.Int("replicas"))}).threads);
  const std::vector<TunedLayer> once = TuneConvolutions(job, data);
  const std::vector<TunedLayer> again = TuneConvolutions(job, data);  // other programs disturb
  std::vector<TunedLayer> layers;
  for (size_t i = 0; i < once.size(); ++i)
    if (once[i].given == "auto" && once[i].best > 0 && once[i].best == again[i].best)
      layers.push_back(once[i]);
  if (layers.empty()) return {};
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const TunedLayer& layer : layers)
    names.push_back(fmt::format(
        "{} with {} ({:.2f} times as fast)", layer.name, layer.algorithms[layer.best].algorithm,
        layer.algorithms[0].seconds / layer.algorithms[layer.best].seconds));
  return {{PlanKey("model.algorithms", FormatValue(AlgorithmsOf(layers)))},
          fmt::format("faster convolutions in {}: {}", precision, fmt::join(names, ", "))};
}

}  // namespace

void OpenShapes(const DataSets& data, PlanOrder& order) {
  order.choices.shapes.clear();
  if (order.peers) return;
  Divisible open = DivisibleOf(order.job, order.cluster, order.tries_replicas);
  open.parts = open.parts && order.tries_parts;
  const Graph graph = BuildModel(order.job.model(), TaskOf(data.train->Info()));
  order.choices.shapes = ShapesOf(order.job, graph, open, /*here=*/!order.cluster);
}

bool HasPrices(const PlanOrder& order, const DataSets& data) {
  const auto machines = MachinesOf(order);
  const Hardware hardware(order.job, data, machines);
  return std::ranges::any_of(MakeCandidates(order.job, order.choices), [&](const Candidate& one) {
    try {
      return one.IsLeft() && hardware.Of(one).seconds_per_update > 0;
    } catch (const Error&) {
      return false;
    }
  });
}

Plan MeasureAndSearch(const PlanOrder& order, const DataSets& data, const std::string& from) {
  MakeCandidates(order.job, order.choices);  // refused before the machine is measured
  if (order.cluster)
    return SearchOn(order, data, MachinesOf(order), from,
                    order.run.cluster ? order.trial_seconds : 0);
  const std::string executor = order.job.node.String("executor");
  Require(!FindEntry(executors(), "executor", executor).divides_model,
          "{}: yoke plan times whole models on each device, and executor {} divides the model: "
          "compare by yoke bench, or give --cluster a file with the devices' speeds",
          order.job.node.Where("executor"), executor);
  PlanOrder its = order;
  std::map<std::string, ClusterFile> machines = MeasureHere(its, data);
  if (order.run.StopIsAsked()) return {};
  const double factor =
      Calibrate(order.job,
                {.data = data,
                 .run = order.run,
                 .peers = order.peers,
                 .from = from,
                 .folder = order.folder + "/calibration",
                 .seconds = std::max(kShortestTrial, kForCalibration * order.profile_seconds)},
                order.example_seconds, machines);
  Plan plan = SearchOn(its, data, machines, from, order.trial_seconds);
  if (factor >= kLeastFactor)
    plan.notes.push_back(
        fmt::format("replicas share cores: in training an update of the default takes {:.2f} times "
                    "its price, and all prices are raised as much",
                    factor));
  return plan;
}

Plan SearchBySpeed(const PlanOrder& order, const DataSets& data, const std::string& from) {
  Plan plan = CompareSpeeds(order.job, order.choices,
                            {.data = data,
                             .run = order.run,
                             .peers = order.peers,
                             .from = from,
                             .folder = order.folder,
                             .seconds = order.trial_seconds},
                            order.example_seconds * ExamplesPerUpdate(order.job));
  plan.machine = MachineText(order.job);
  return plan;
}

Plan MakePlan(const PlanOrder& order) {
  const double began = Now();
  const DataSets data = OpenData(order.job.data(), order.job.seed());
  Plan plan;
  const PeerResult result = WithPeers(order.job, data, order.run, [&](const LauncherPeers* peers) {
    PlanOrder its = order;
    its.peers = peers;
    OpenShapes(data, its);
    if (order.omnivore) {
      int most_groups = 1;
      plan = OmnivoreColdStart(
          {.order = its, .data = data, .seconds = order.trial_seconds / ColdStartTrials(order.job)},
          most_groups);
      plan.machine = MachineText(order.job);
      return Table();
    }
    MakeCandidates(order.job, its.choices);  // refused before anything is measured
    std::vector<std::string> notes;
    if (!order.cluster && !peers)
      for (const std::string& precision : PrecisionsOf(order.job, order.choices)) {
        if (order.run.StopIsAsked()) break;
        auto [keys, note] = FastestConvolutions(order.job, precision, *data.train);
        if (!note.empty()) notes.push_back(note);
        its.choices.of_precision[precision] = std::move(keys);
      }
    plan = MeasureAndSearch(its, data, "");
    plan.notes.insert(plan.notes.end(), notes.begin(), notes.end());
    return Table();
  });
  if (result.signal != 0)
    throw WorldError("a signal has stopped another rank", 128 + result.signal, PrintsForAll());
  plan.seconds = Now() - began;
  return plan;
}

}  // namespace yoke
