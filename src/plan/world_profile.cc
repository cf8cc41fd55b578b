// WorldProfile: ranks find their machine, compute in turn, and gather what they measured.
#include "plan/world_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/registry.h"
#include "base/stop.h"
#include "base/value.h"
#include "comm/gather.h"
#include "comm/threads.h"
#include "kernels/threads.h"
#include "measure/speed_fit.h"
#include "measure/stepper.h"
#include "plan/candidates.h"
#include "plan/contention.h"
#include "plan/measured_job.h"
#include "tensor/devices.h"
#include "train/agreement.h"
#include "train/job/devices.h"
#include "train/job/parts.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

constexpr double kForPolling = 0.15;   // of the time for computing
constexpr double kForCrowding = 0.15;  // likewise, each time that steps are measured
constexpr int64_t kFewSteps = 3, kManySteps = 1000;
constexpr int kFewThreads = 4;           // between which messages are measured
constexpr double kShortestPause = 2e-3;  // seconds between messages, so that busy ranks keep up

std::vector<double> Joined(const std::vector<std::vector<double>>& lists) {
  std::vector<double> all;
  for (const auto& one : lists) all.insert(all.end(), one.begin(), one.end());
  return all;
}

using Names = std::vector<std::string>;

/// A profile as values, for a message. The other devices are some of `devices`, in this order.
std::vector<double> ValuesOf(const MachineProfile& profile, const Names& devices) {
  std::vector<double> values = {profile.update_seconds, profile.bytes_per_second,
                                double(profile.threads)};
  const auto add_curve = [&values](const SpeedCurve& curve) {
    values.insert(values.end(), {curve.operations_per_second, curve.bytes_per_second,
                                 curve.launch_seconds, curve.link_bytes_per_second,
                                 double(curve.threads), double(curve.utilizations.size())});
    for (const auto& [examples, of_peak] : curve.utilizations)
      values.insert(values.end(), {examples, of_peak});
  };
  const auto add_step = [&values](const StepTime& step) {
    values.insert(values.end(), {double(step.batch), step.seconds, step.sigma, double(step.steps)});
  };
  add_curve(profile.curve);
  for (const std::string& device : devices) {
    const auto measured = profile.devices.find(device);
    values.push_back(measured == profile.devices.end() ? 0 : 1);
    if (measured != profile.devices.end()) add_curve(measured->second);
  }
  add_step(profile.step);
  for (const StepTime& step : profile.steps) add_step(step);
  return values;
}

MachineProfile ProfileOf(const std::vector<double>& values, const Names& devices) {
  size_t at = 0;
  const auto next = [&] { return values.at(at++); };
  const auto next_curve = [&] {
    SpeedCurve curve = {.operations_per_second = next(),
                        .bytes_per_second = next(),
                        .launch_seconds = next(),
                        .link_bytes_per_second = next(),
                        .threads = static_cast<int>(next())};
    curve.utilizations.resize(static_cast<size_t>(next()));
    for (auto& [examples, of_peak] : curve.utilizations) examples = next(), of_peak = next();
    return curve;
  };
  const auto next_step = [&] {
    return StepTime{.batch = static_cast<int64_t>(next()),
                    .seconds = next(),
                    .sigma = next(),
                    .steps = static_cast<int64_t>(next())};
  };
  MachineProfile profile = {.update_seconds = next(),
                            .bytes_per_second = next(),
                            .threads = static_cast<int>(next()),
                            .curve = next_curve()};
  for (const std::string& device : devices)
    if (next() == 1) profile.devices[device] = next_curve();
  profile.step = next_step();
  while (at < values.size()) profile.steps.push_back(next_step());
  return profile;
}

/// Of a machine's ranks, some of which computed: the first one's figures, and each device's.
MachineProfile ProfileOf(const std::vector<std::vector<double>>& profiles,
                         const std::vector<int>& ranks, const Names& devices) {
  MachineProfile all = ProfileOf(profiles[ranks[0]], devices);
  for (const int rank : ranks)
    if (!profiles[rank].empty()) all.devices.merge(ProfileOf(profiles[rank], devices).devices);
  return all;
}

/// Names the running kernel: containers of a computer have the same.
std::string KernelId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id.empty() ? HostName() : id;
}

/// The machines of a world.
struct Machines {
  explicit Machines(const Communicator& world) {
    const Allowance mine = FindAllowance();
    std::vector<int> values = {mine.quota};
    values.insert(values.end(), mine.mask.begin(), mine.mask.end());
    const std::vector<std::string> hosts = GatherTexts(world, HostName());
    const std::vector<std::string> ids = GatherTexts(world, KernelId());
    const auto allowances = GatherValues(world, values);
    for (size_t rank = 0; rank < hosts.size(); ++rank) {
      const auto known = std::ranges::find(names, hosts[rank]);
      of_rank.push_back(static_cast<int>(known - names.begin()));
      if (known == names.end()) {
        names.push_back(hosts[rank]);
        kernels.push_back(ids[rank]);
        quotas.push_back(allowances[rank][0]);
        ranks.emplace_back();
        processors.emplace_back();
      }
      ranks[of_rank[rank]].push_back(static_cast<int>(rank));
      processors[of_rank[rank]].insert(allowances[rank].begin() + 1, allowances[rank].end());
    }
  }

  /// Cores of this rank's machine that its ranks may use together: machines that are containers of
  /// one computer share them.
  int UsableCores(int machine) const {
    std::set<int> cores;
    for (const Place& place : FindTopology().places)
      if (processors[machine].contains(place.id)) cores.insert(place.core);
    int sharing = 0;
    for (size_t other = 0; other < names.size(); ++other)
      sharing += kernels[other] == kernels[machine] && processors[other] == processors[machine];
    const int count = std::max(1, static_cast<int>(cores.size()) / sharing);
    return quotas[machine] > 0 ? std::min(count, quotas[machine]) : count;
  }

  std::vector<std::string> names, kernels;
  std::vector<int> quotas;
  std::vector<std::vector<int>> ranks;
  std::vector<std::set<int>> processors;  // in the masks of its ranks
  std::vector<int> of_rank;
};

/// Messages of the model's size, sent when a training step has used the caches.
NetworkProbe ProbeFor(const Graph& graph, int64_t batch) {
  constexpr double kShortest = 1 << 16, kLongest = 1 << 26;  // bytes
  const auto model = static_cast<double>(graph.layout().dense_size() * SizeOf(DType::kF32));
  return {.long_message = std::llround(std::clamp(model, kShortest, kLongest)),
          .lengths = {},
          .touched_between = std::llround(std::min(graph.Price(batch).bytes, kLongest))};
}

/// Between all pairs; of many threads of one process, which are alike, between the first ones,
/// without medians.
NetworkReport MeasureMessages(const Communicator& world, const NetworkProbe& probe, bool launched) {
  if (launched || world.size() <= kFewThreads) return MeasureNetwork(world, probe);
  const bool measures = world.rank() < kFewThreads;
  const Communicator few = world.Split(measures ? 0 : 1, world.rank());
  std::vector<double> values;
  if (measures)
    for (const PairSpeed& pair : MeasureNetwork(few, probe).pairs)
      values.insert(values.end(), {pair.latency, pair.bytes_per_second});
  const std::vector<double> first = GatherValues(world, values)[0];
  NetworkReport report;
  for (size_t i = 0; i < first.size(); i += 2)
    report.pairs.push_back({.latency = first[i], .bytes_per_second = first[i + 1]});
  return report;
}

/// A replica that ranks measure: the job's model on its devices. The arguments must outlive it.
class Subject {
 public:
  Subject(const Job& job, const Graph& graph, const Reader& data, const Devices& devices,
          const ThreadPlan& threads, const std::atomic<int>* stop)
      : job_(job, graph, data, devices.all(), stop), threads_(threads) {}

  ProfileRequest In(double seconds) const { return job_.By(threads_, seconds); }
  MachineProfile Measure(double seconds) const {
    const Binding binding(threads_);
    return MeasureMachine(In(seconds));
  }
  /// What the other replicas of its machine take from one.
  struct Neighbours {
    double crowding = 1;
    double bytes_per_second = 0;  ///< Of arithmetic on values beside them; 0: unknown.
  };
  /// All ranks of the machine call it. `step`: seconds of a step.
  Neighbours MeasureNeighbours(const Communicator& machine, int at_once, double step,
                               double seconds) const {
    if (machine.size() == 1) return {};
    const Binding binding(threads_);
    const ProfileRequest request = In(seconds);
    MeanSteps steps(request);
    const auto count =
        std::clamp<int64_t>(std::llround(kForCrowding * seconds / step), kFewSteps, kManySteps);
    const double crowding = MeasureCrowding(
        machine, at_once, [&](const auto& meet) { return steps.Seconds(count, meet); });
    const double update = steps.UpdateCpuSeconds();
    return {.crowding = crowding,
            .bytes_per_second = update > 0 ? steps.UpdateCost().bytes / update : 0};
  }

 private:
  MeasuredJob job_;
  const ThreadPlan& threads_;
};

/// With several devices a curve for each, as measured; the file has the CPU's alone.
void TakeDevices(const MeasuredNode& measured, NodeKind& node) {
  const std::map<std::string, SpeedCurve>& devices = measured.profile.devices;
  if (devices.empty()) return;
  node.curves = {{"cpu", measured.Curve()}};
  node.curves.insert(devices.begin(), devices.end());
}

}  // namespace

void RequireOnlyTheCpu(const Job& job) {
  const Devices devices = DevicesOf(job);
  for (const Device* device : devices.all())
    Require(device->IsHost(),
            "{}: --profile measures the CPU only, not {}: {}, or describe the device by a curve as "
            "in examples/devices",
            job.node.Where("devices"), device->name(), HowToUseTheCpu());
}

WorldProfile MeasureWorld(const Job& job, const Reader& data, const Communicator& world,
                          const Measuring& measuring) {
  const Machines machines(world);
  const Graph graph = BuildModel(job.model(), TaskOf(data.Info()), RowTypeOf(job));
  const Names names = DeviceNames(job.node.Strings("devices"), job.node.Where("devices"));
  const ThreadPlan threads =
      measuring.launched ? job.Plan() : job.Plan({.rank = world.rank(), .size = world.size()});
  SetKernelThreads(threads.threads);
  const int here = machines.of_rank[world.rank()];
  MeasuredNode mine = {.usable_cores = machines.UsableCores(here),
                       .threads_apart = job.node.String("executor") != "single",
                       .profile = {.threads = threads.threads}};
  const auto& neighbours = machines.ranks[here];
  const auto place = std::ranges::find(neighbours, world.rank()) - neighbours.begin();
  const bool computes = place < mine.AtOnce();
  const int at_once = std::min(mine.AtOnce(), static_cast<int>(neighbours.size()));
  const LocalRank among = {.rank = static_cast<int>(place) % at_once, .size = at_once};
  const Devices devices(ShareOf(names, among, /*several=*/true), job.node.Where("devices"),
                        DeviceSettingsOf(job));
  const int64_t batch = std::min(job.train.Int("batch"), data.Size());
  const NetworkProbe probe = ProbeFor(graph, batch);
  const Communicator computing = world.Split(computes ? 0 : 1, world.rank());
  const Subject subject(job, graph, data, devices, threads, measuring.stop);
  if (computes) mine.profile = subject.Measure(measuring.seconds);
  world.Barrier();
  const auto profiles =
      GatherValues(world, computes ? ValuesOf(mine.profile, names) : std::vector<double>());
  const std::vector<int> cores = GatherOne(world, mine.usable_cores);
  const std::vector<std::string> cpus = GatherTexts(world, CpuModel());
  WorldProfile found;
  for (size_t machine = 0; machine < machines.names.size(); ++machine) {
    const int first = machines.ranks[machine][0];
    found.nodes.push_back({.host = machines.names[machine],
                           .cpu = cpus[first],
                           .ranks = static_cast<int>(machines.ranks[machine].size()),
                           .usable_cores = cores[first],
                           .threads_apart = mine.threads_apart,
                           .profile = ProfileOf(profiles, machines.ranks[machine], names)});
  }
  const auto stops = [&] { return AnyHas(world, StopIsAsked(measuring.stop)); };
  const bool several = world.size() > 1 && !stops();
  const NetworkReport network =
      several ? MeasureMessages(world, probe, measuring.launched) : NetworkReport{};
  found.network = NetworkOf(network.pairs, measuring.launched);
  if (!several || stops()) return found;
  const double step = found.nodes[here].profile.step.seconds;
  const Subject::Neighbours others = subject.MeasureNeighbours(
      world.Split(here, world.rank()), mine.AtOnce(), step, measuring.seconds);
  const auto of_others =
      GatherValues(world, std::vector<double>{others.crowding, others.bytes_per_second});
  for (size_t one = 0; one < found.nodes.size(); ++one) {
    const std::vector<double>& its = of_others[machines.ranks[one][0]];
    MachineProfile& profile = found.nodes[one].profile;
    found.nodes[one].crowding = its[0];
    if (its[1] == 0 || names.size() > 1) continue;
    profile.bytes_per_second = its[1];
    profile.curve =
        WithMemory(profile.curve, its[0] * its[1], graph.Price(batch));  // Curve() slows
  }
  if (found.nodes.size() == 1) return found;
  std::vector<double> polling;
  if (computes && computing.size() > 1) {
    // Within a machine, copies are measured apart. Two messages a step: a request and an answer.
    const auto bytes = static_cast<double>(probe.long_message);
    const double pause =
        std::max({kShortestPause, step / 2, bytes / network.median_bytes_per_second});
    const auto beside = [&] {
      return subject.Measure(kForPolling * measuring.seconds).step.seconds;
    };
    polling = {
        MeasurePolling(computing, {probe.long_message, pause}, mine.profile.step.seconds, beside)};
  }
  polling = Joined(GatherValues(world, polling));
  if (!polling.empty()) found.network.polling = Median(polling);
  return found;
}

MeasuredNetwork MeasureCopies(const Graph& graph, int64_t batch) {
  MeasuredNetwork network;
  RunThreads({.ranks = 2}, [&](const Communicator& world) {
    const NetworkReport report = MeasureNetwork(world, ProbeFor(graph, batch));
    if (world.rank() == 0) network = NetworkOf(report.pairs, /*launched=*/false);
  });
  return network;
}

MeasuredNetwork NetworkOf(const std::vector<PairSpeed>& pairs, bool launched) {
  if (pairs.empty())
    return {.latency = 2e-5,
            .bytes_per_second = 1.25e9,
            .source =
                "No network was measured: this is Ethernet of 10 Gbit/s. `mpirun yoke "
                "simulate JOB --profile FILE` measures one."};
  const auto median = [&pairs](bool one_machine, double PairSpeed::*figure) {
    std::vector<double> figures;
    for (const PairSpeed& pair : pairs)
      if (pair.one_machine == one_machine) figures.push_back(pair.*figure);
    return figures.empty() ? 0 : Median(figures);
  };
  const double between = median(false, &PairSpeed::bytes_per_second);
  const double within = median(true, &PairSpeed::bytes_per_second);
  if (between == 0)
    return {.measured = true,
            .latency = median(true, &PairSpeed::latency),
            .bytes_per_second = within,
            .copy_bytes_per_second = 2 * within,
            .source = fmt::format("Between {} of one machine, whose replicas only copy messages. "
                                  "With a count of 2 or more, put latency and bytes_per_second of "
                                  "your network here.",
                                  launched ? "processes" : "threads")};
  MeasuredNetwork network = {.measured = true,
                             .latency = median(false, &PairSpeed::latency),
                             .bytes_per_second = between,
                             .source =
                                 "Between processes of two machines, and their copies "
                                 "within a machine."};
  // Where machines have several ranks: a message is copied twice, and what is left is the card's.
  if (within > 2 * between) {
    network.copy_bytes_per_second = 2 * within;
    network.bytes_per_second = 1 / (1 / between - 1 / within);
  }
  return network;
}

std::map<std::string, ClusterFile> MeasureMachines(const Job& job, const Reader& data,
                                                   const std::vector<std::string>& precisions,
                                                   const Communicator& world,
                                                   const Measuring& measuring,
                                                   const std::string& executor) {
  std::map<std::string, ClusterFile> machines;
  for (const std::string& precision : precisions) {
    Overrides keys = {PlanKey("node.precision", precision, /*text=*/true)};
    if (job.node.String("executor") != executor)
      keys.push_back(PlanKey("node.executor", executor, /*text=*/true));
    const WorldProfile profile = MeasureWorld(WithKeys(job, keys), data, world, measuring);
    const std::string text = FormatCluster({.title = "this machine",
                                            .command = "yoke plan",
                                            .when = "",
                                            .subject = job.name,
                                            .nodes = profile.nodes,
                                            .network = profile.network});
    ClusterFile& cluster = machines[precision] = ClusterOf(ParseToml(text, "the profile"), "");
    for (size_t i = 0; i < profile.nodes.size(); ++i)
      TakeDevices(profile.nodes[i], cluster.kinds[i]);
  }
  return machines;
}

}  // namespace yoke
