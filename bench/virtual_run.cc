// Trains a job on a simulated cluster, in virtual time with real gradients: the instrument of the
// strategies' tables. The run directory is that of `yoke train`, with virtual seconds.
//
// usage: virtual_run JOB --run DIR [--set KEY=VALUE]... [a cluster; see --help]
//
// Prints one line of JSON: the virtual seconds of the run, and the real ones.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "comm/simulated.h"
#include "data/reader.h"
#include "model/graph.h"
#include "node/speed_curve.h"
#include "simulate/simulate.h"
#include "train/job/job.h"
#include "train/job/parts.h"
#include "train/trainer.h"

namespace {

using namespace yoke;  // NOLINT(google-build-using-namespace): a program of one file

struct Settings {
  std::string job, run;
  JobOptions set;
  double latency = 50e-6, bandwidth = 1.25e9;
  double step_seconds = 0, operations = 1e11, memory = 1e10, copies = 1e10, device_link = 0;
  double polling = 0;
  int ranks_per_node = 1, cores = 0;
  bool fair_links = false, times_only = false;
  std::vector<std::string> devices;
  std::string losses;
  int slow_rank = -1;
  double slow_factor = 2, jitter = 0;
};

/// Empty for a number that is positive, or at least 0 if that is allowed.
std::string Refusal(const std::string& text, bool zero) {
  const double value = std::atof(text.c_str());
  if (value > 0 || (zero && value == 0)) return "";
  return fmt::format("expected a number {} 0, got {}", zero ? "of at least" : "above", text);
}

void Declare(Arguments& arguments, Settings& to) {
  arguments.Place("JOB", &to.job, "Job file");
  arguments.Option("--run", "DIR", &to.run, "Run directory");
  to.set.Declare(arguments);
  const auto number = [&](const char* flag, auto& value, const char* help) {
    arguments.Option(flag, "N", &value, help).Check([](const std::string& text) {
      return Refusal(text, true);
    });
  };
  const auto rate = [&](const char* flag, auto& value, const char* help) {
    arguments.Option(flag, "N", &value, help).Check([](const std::string& text) {
      return Refusal(text, false);
    });
  };
  number("--latency", to.latency, "Seconds from card to card");
  rate("--bandwidth", to.bandwidth, "Bytes per second of a card");
  number("--step-seconds", to.step_seconds,
         "Of forward and backward for the job's batch, if its bytes take no longer; instead of "
         "--operations");
  rate("--operations", to.operations, "Per second of a rank");
  rate("--memory", to.memory, "Bytes per second of a rank's arithmetic on values");
  rate("--copies", to.copies, "Bytes per second of a message's copies");
  number("--device-link", to.device_link,
         "Bytes per second between a rank's device and its host; 0: it computes in the host");
  rate("--ranks-per-node", to.ranks_per_node, "Ranks that share a card");
  number("--cores", to.cores, "Of a node; 0: one for each charge");
  number("--polling", to.polling, "Fraction of a core that a rank's waiting takes");
  number("--slow-rank", to.slow_rank, "Computes --slow-factor times as long");
  rate("--slow-factor", to.slow_factor, "Of --slow-rank");
  number("--jitter", to.jitter, "Sigma of the logarithm of a charge's time");
  arguments.Option(
      "--device", "NAME=FILE", &to.devices,
      "NAME=FILE: the speed of a device of node.devices (examples/devices); all of them, "
      "in place of --operations and --memory");
  arguments.Option(
      "--losses", "FILE", &to.losses,
      "File for lines of virtual seconds, examples since the line before, their mean loss, and the "
      "seconds of work that each --device began since then, in the order of their names");
  arguments.Flag("--fair-links", &to.fair_links, "Messages share a card evenly, as over TCP");
  arguments.Flag("--times-only", &to.times_only, "Compute no gradients: only the times");
}

/// The price of forward and backward for the job's batch.
Cost CostOfStep(const Job& job) {
  const DataSets data = OpenData(job.data(), job.seed());
  const Graph graph = BuildModel(job.model(), TaskOf(data.train->Info()));
  return graph.Price(BatchOf(job));
}

/// Operations per second at which a step takes the stated time, its bytes included.
double OperationsPerSecond(const Settings& settings, const Job& job) {
  if (settings.step_seconds == 0) return settings.operations;
  const Cost step = CostOfStep(job);
  const double bytes = step.bytes / settings.memory;
  return step.operations / std::max(settings.step_seconds - bytes, 0.1 * settings.step_seconds);
}

ServiceTime ServiceOf(const Settings& settings, const Job& job) {
  const auto ranks = static_cast<int>(job.cluster.Int("replicas"));
  Require(settings.slow_rank < ranks, "--slow-rank: {} of {} replicas; they count from 0",
          settings.slow_rank, ranks);
  const ServiceTime steady = SteadyService(OperationsPerSecond(settings, job), settings.memory);
  ServiceTime mean = [=, &settings](int rank, const Cost& cost) {
    return (rank == settings.slow_rank ? settings.slow_factor : 1) * steady(rank, cost);
  };
  if (settings.jitter == 0) return mean;
  return LogNormalService(mean, settings.jitter, job.seed(), ranks);
}

/// Seconds of work by device, a CPU's threads as one.
using BusySeconds = std::map<std::string, double, std::less<>>;

/// Writes the training loss as it falls, and how busy devices are.
class LossFile : public Observer {
 public:
  LossFile(const std::string& path, BusySeconds& busy)
      : file_(std::fopen(path.c_str(), "w")), busy_(busy) {
    Require(file_, "--losses: cannot write {}", path);
  }
  ~LossFile() override { std::fclose(file_); }
  LossFile(const LossFile&) = delete;
  LossFile& operator=(const LossFile&) = delete;
  void Step(const StepEvent& event) override {
    Write(event.seconds, event.examples, event.loss * double(event.examples));
  }
  void Start(const StartEvent& event) override { epoch_ = event.train_examples; }
  void Epoch(const EpochEvent& event) override {
    Write(event.seconds, epoch_, event.train_loss * double(epoch_));
    examples_ = 0;
    sum_ = 0;
  }

 private:
  void Write(double seconds, int64_t examples, double sum) {
    if (examples <= examples_) return;
    const int64_t count = examples - examples_;
    fmt::print(file_, "{:.6f} {} {:.6f}", seconds, count, (sum - sum_) / double(count));
    for (auto& [device, busy] : busy_) fmt::print(file_, " {:.6f}", std::exchange(busy, 0));
    fmt::print(file_, "\n");
    examples_ = examples;
    sum_ = sum;
  }

  std::FILE* file_;
  BusySeconds& busy_;
  int64_t epoch_ = 0;     // examples of an epoch
  int64_t examples_ = 0;  // of the epoch so far
  double sum_ = 0;        // of their losses
};

/// The curves of the devices that are given, by name.
std::map<std::string, SpeedCurve, std::less<>> CurvesOf(const Settings& settings) {
  std::map<std::string, SpeedCurve, std::less<>> curves;
  for (const std::string& given : settings.devices) {
    const size_t equals = given.find('=');
    Require(equals != std::string::npos, "--device: expected NAME=FILE, got {}", given);
    curves[given.substr(0, equals)] = ReadSpeedCurve(given.substr(equals + 1));
  }
  return curves;
}

/// Passes take what the curves say. Arithmetic on values is done where they lie: on the only
/// device, or the CPU. `busy` must outlive the cluster.
void UseDevices(const std::map<std::string, SpeedCurve, std::less<>>& curves,
                SimulatedRanks& cluster, BusySeconds& busy) {
  const auto cpu = curves.find("cpu");
  const SpeedCurve& host = cpu == curves.end() ? curves.begin()->second : cpu->second;
  Require(cpu != curves.end() || curves.size() == 1, "--device: no curve of the cpu");
  cluster.cpu_threads = cpu == curves.end() ? 0 : host.threads;
  cluster.service = [host](int /*rank*/, const Cost& cost) { return host.Seconds(cost, {}); };
  cluster.devices = [curves, &busy](int /*rank*/, const Cost& cost, const WorkPlace& place) {
    const auto curve = curves.find(place.device);
    Require(curve != curves.end(), "--device: no curve of {}", place.device);
    const double seconds = curve->second.Seconds(cost, place);
    busy[curve->first] += seconds / (place.threads > 0 ? curve->second.threads : 1);
    return seconds;
  };
}

int Main(int argc, char** argv) {
  Arguments arguments("virtual_run", "Trains a job on a simulated cluster", "");
  Settings settings;
  Declare(arguments, settings);
  if (!arguments.Parse({argv + 1, argv + argc})) {
    fmt::print("{}", arguments.Help());
    return 0;
  }
  Require(arguments.Unknown().empty(), "unknown argument");
  Require(!settings.job.empty() && !settings.run.empty(), "needs JOB and --run DIR");
  const Job job = LoadJob(settings.job, settings.set.Read());
  Require(settings.devices.empty() || settings.losses.empty() || !job.node.Resolved().Find("parts"),
          "--losses: how busy a --device is in node.parts is not known; expected no parts");
  SimulatedRanks machines = {.latency = settings.latency,
                             .bytes_per_second = settings.bandwidth,
                             .service = ServiceOf(settings, job),
                             .fair_links = settings.fair_links,
                             .ranks_per_node = settings.ranks_per_node,
                             .cores = settings.cores,
                             .polling = settings.polling,
                             .copy_bytes_per_second = settings.copies,
                             .device_bytes_per_second = settings.device_link};
  BusySeconds busy;
  if (!settings.devices.empty()) UseDevices(CurvesOf(settings), machines, busy);
  const auto began = std::chrono::steady_clock::now();
  RunRequest request = {.run = settings.run, .tell_each_step = !settings.losses.empty()};
  const SimulatedCluster cluster = {
      .machines = machines, .simulate = Simulate, .times_only = settings.times_only};
  request.cluster = &cluster;
  std::optional<LossFile> losses;
  if (!settings.losses.empty()) request.observers.push_back(&losses.emplace(settings.losses, busy));
  const EndEvent end = Train(job, request);
  const std::chrono::duration<double> real = std::chrono::steady_clock::now() - began;
  fmt::print("{{\"reason\": \"{}\", \"virtual_seconds\": {}, \"real_seconds\": {}}}\n", end.reason,
             end.virtual_seconds, real.count());
  return end.exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "virtual_run: {}\n", error.what());
    return 2;
  }
}
