// yoke simulate: trains a job on a cluster that a file describes, in virtual time.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "api/run_job.h"
#include "base/check.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "comm/launcher.h"
#include "comm/threads.h"
#include "data/writers.h"
#include "measure/cluster_file.h"
#include "plan/shapes.h"
#include "plan/world_profile.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

constexpr const char* kSimulateDetails = R"(Examples:
  yoke simulate job.toml --cluster examples/clusters/rack-10gbit.toml
  yoke simulate job.toml --cluster cluster.toml --strategy gossip_pull --run runs/gossip
  yoke simulate job.toml --cluster cluster.toml --steps 100
  yoke simulate job.toml --cluster cluster.toml --times-only --steps 20
  yoke simulate job.toml --profile this.toml        writes the cluster file of this machine
  mpirun -n 4 yoke simulate job.toml --profile this.toml       with the network of its ranks

Trains with real gradients on this machine, one replica at a time, and counts the seconds that the cluster would take.
Events and run directory are those of `yoke train`, with virtual seconds. docs/simulate.md explains cluster files, and
what is not simulated. Equal seeds give equal times.)";

/// `--profile`: measures this machine, and the network of a running world.
struct ProfileOrder {
  std::string job;      ///< The job file.
  Overrides keys = {};  ///< Of the command line.
  std::string file;     ///< The cluster file to write; an existing one is replaced.
  bool quiet = false;
};

/// Ranks that do not compute wait for those that measure a large model.
constexpr double kTimeout = 600;

std::string CommandOf(const ProfileOrder& order, const Launch& launch) {
  Overrides keys = order.keys;
  const bool launched = !launch.launcher.empty();  // which says the replicas
  std::erase_if(keys,
                [&](const Override& key) { return launched && key.key == "cluster.replicas"; });
  return fmt::format("{}yoke simulate {} --profile {}{}",
                     launched ? fmt::format("mpirun -n {} ", launch.size) : "", order.job,
                     order.file, WordsOf(keys));
}

std::string SubjectOf(const Job& job) {
  return fmt::format("{}: batch {}, executor {}, {}", job.name, job.train.Int("batch"),
                     job.node.String("executor"), job.node.String("precision"));
}

std::string Plural(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Seconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", 1000 * seconds) : fmt::format("{:.3g} s", seconds);
}

Table ToTable(const MeasuredNode& node) {
  const MachineProfile& profile = node.profile;
  Table steps;
  for (const StepTime& step : profile.steps)
    steps.emplace_back(std::to_string(step.batch), step.seconds);
  const SpeedCurve curve = node.Curve();
  return {{"host", node.host},
          {"cpu", node.cpu},
          {"ranks", node.ranks},
          {"usable_cores", node.usable_cores},
          {"cores", node.Cores()},
          {"threads", profile.threads},
          {"batch", profile.step.batch},
          {"step_seconds", profile.step.seconds},
          {"seconds_per_step", steps},
          {"update_seconds", profile.update_seconds},
          {"sigma", profile.step.sigma},
          {"crowding", node.crowding},
          {"operations_per_second", curve.operations_per_second},
          {"memory_bytes_per_second", profile.bytes_per_second},
          {"launch_seconds", curve.launch_seconds}};
}

/// The figures of the first machine, and all of them.
Table ToTable(const ProfileOrder& order, const Job& job, const WorldProfile& found) {
  const MeasuredNetwork& network = found.network;
  Table links = {{"network", network.measured ? "measured" : "assumed"},
                 {"latency", network.latency},
                 {"bytes_per_second", network.bytes_per_second}};
  if (network.copy_bytes_per_second > 0)
    links.emplace_back("copy_bytes_per_second", network.copy_bytes_per_second);
  if (network.polling > 0) links.emplace_back("polling", network.polling);
  List machines;
  for (const MeasuredNode& node : found.nodes) machines.emplace_back(ToTable(node));
  links.emplace_back("machines", std::move(machines));
  const Table asked = {
      {"file", order.file}, {"job", order.job}, {"executor", job.node.String("executor")}};
  return Join(Join(asked, ToTable(found.nodes[0])), std::move(links));
}

std::string Sentence(const ProfileOrder& order, const WorldProfile& found) {
  const MeasuredNode& node = found.nodes[0];
  const StepTime& step = node.profile.step;
  std::string text =
      fmt::format("{}: a step of {} takes {} on {} of {} (single steps vary by {:.1f} %)",
                  order.file, Plural(step.batch, "example"), Seconds(step.seconds),
                  Plural(node.profile.threads, "thread"), node.cpu, 100 * step.sigma);
  int ranks = 0;
  for (const MeasuredNode& one : found.nodes) ranks += one.ranks;
  if (ranks == 1) return text + "; the network is assumed, edit it";
  return text + fmt::format("; a message between two of {} on {} takes {:.1f} us and {:.3g} MB/s",
                            Plural(ranks, "replica"), Plural(std::ssize(found.nodes), "machine"),
                            1e6 * found.network.latency, found.network.bytes_per_second / 1e6);
}

MeasuredCluster ClusterOf(const ProfileOrder& order, const Job& job, const WorldProfile& found) {
  const MeasuredNode& first = found.nodes[0];
  return {.title = fmt::format("{} with {}", Plural(std::ssize(found.nodes), "machine"), first.cpu),
          .command = CommandOf(order, FindLaunch()),
          .when = LocalTime(),
          .subject = SubjectOf(job),
          .nodes = found.nodes,
          .network = found.network};
}

/// Measures with the processes of a launcher or, without one, with as many threads as the job has
/// replicas; rank 0 writes and prints. Throws UserError for a job that computes on other devices
/// than the CPU, and where the file cannot be written.
void WriteProfile(const ProfileOrder& order, Output& out) {
  const bool launched = !FindLaunch().launcher.empty();
  Overrides keys = order.keys;
  SetReplicasOfLaunch(keys);
  const Job job = LoadJob(order.job, keys);
  RequireOnlyTheCpu(job);
  const DataSets data = OpenData(job.data(), job.seed());
  const auto measure = [&](const Communicator& world) {
    std::optional<OutputFile> file;  // refused before anything is measured
    if (world.rank() == 0) {
      RequireNoInput(order.file, InputsOf(job, order.job));
      file.emplace(order.file);
    }
    const WorldProfile found = MeasureWorld(job, *data.train, world, {.launched = launched});
    if (!file) return;
    file->Write(FormatCluster(ClusterOf(order, job, found)));
    file->Commit();
    out.Event("profile", ToTable(order, job, found));
    if (!order.quiet) out.Text(Sentence(order, found));
  };
  if (launched) return RunMpi({.timeout = kTimeout}, measure);
  RunThreads({.ranks = static_cast<int>(job.cluster.Int("replicas")), .timeout = kTimeout},
             measure);
}

/// A machine of one replica whose file says how fast its teams are is divided among the replicas
/// that the keys ask for, as a plan does.
ClusterFile DividedBy(const Overrides& keys, ClusterFile file) {
  int replicas = 1;
  for (const Override& given : keys)
    if (given.key == "cluster.replicas") replicas = std::atoi(given.value.c_str());
  if (file.Ranks() > 1 || replicas < 2 || file.kinds[0].threads % replicas != 0 ||
      !TeamsDiffer(file))
    return file;
  return DividedAmong(std::move(file), replicas);
}

class SimulateCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    options_.Declare(arguments);
    arguments.Option("--cluster", "FILE", &cluster_, "The cluster file (TOML)");
    arguments.Option("--steps", "N", &steps_, "Stop after so many steps")
        .Within(int64_t{1}, static_cast<int64_t>(kMostCount));
    arguments.Flag("--times-only", &times_only_,
                   "Compute no gradients: only the times, of up to 100,000 nodes and more");
    arguments.Option("--profile", "FILE", &profile_,
                     "Measure this machine and write its cluster file instead");
  }

  int Run(Output& out) override {
    Require(!options_.job().empty(), "`yoke simulate` needs a job file");
    if (!profile_.empty()) return Profile(out);
    Require(!LaunchedByMpi(), "`yoke simulate` is one process: run it without mpirun");
    Require(!cluster_.empty(),
            "`yoke simulate` needs --cluster FILE, such as one of "
            "examples/clusters, or --profile FILE to write one");
    Overrides keys = options_.Keys();
    const ClusterFile file = DividedBy(keys, ReadCluster(cluster_));
    SetReplicasOfCluster(file, cluster_, keys);
    const Job job = options_.Load(keys);
    const SimulatedCluster cluster = ClusterOf(file, job, times_only_);
    RunRequest request = {.run = options_.run()};
    request.stop_signal = &CatchStopSignals();
    request.steps = steps_;
    request.cluster = &cluster;
    if (const std::string note = file.PriceNote(); !note.empty() && !options_.quiet())
      out.Text(note);
    return options_.Train(job, std::move(request), out, &file);
  }

 private:
  int Profile(Output& out) const {
    Require(cluster_.empty(), "--profile writes a cluster file: leave out --cluster");
    Require(steps_ == 0, "--profile measures and does not train: leave out --steps");
    Require(!times_only_, "--profile measures and does not train: leave out --times-only");
    Require(options_.run().empty(), "--profile measures and does not train: leave out --run");
    WriteProfile({.job = options_.job(),
                  .keys = options_.Keys(),
                  .file = profile_,
                  .quiet = options_.quiet()},
                 out);
    return 0;
  }

  RunOptions options_;
  std::string cluster_, profile_;
  int64_t steps_ = 0;
  bool times_only_ = false;
};

}  // namespace

CommandEntry simulate_command() {
  return {"simulate",
          "Train and use a model",
          "Train on a simulated cluster, in virtual time",
          kSimulateDetails,
          [] { return std::unique_ptr<Command>(new SimulateCommand); },
          /*together=*/true};
}

}  // namespace yoke
