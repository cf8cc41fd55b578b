// yoke simulate: trains a job on a cluster that a file describes, in virtual time.
#include <CLI/CLI.hpp>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "cli/command.h"
#include "cli/profile.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "comm/launcher.h"
#include "measure/cluster_file.h"
#include "simulate/simulate.h"

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

class SimulateCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    options_.Declare(app);
    app.add_option("--cluster", cluster_, "The cluster file (TOML)")->option_text("FILE");
    app.add_option("--steps", steps_, "Stop after so many steps")
        ->option_text("N")
        ->check(CLI::Range(int64_t{1}, static_cast<int64_t>(kMostCount)));
    app.add_flag("--times-only", times_only_,
                 "Compute no gradients: only the times, of up to 100,000 nodes and more");
    app.add_option("--profile", profile_, "Measure this machine and write its cluster file instead")
        ->option_text("FILE");
  }

  int Run(Output& out) override {
    Require(!options_.job().empty(), "`yoke simulate` needs a job file");
    if (!profile_.empty()) return Profile(out);
    Require(!LaunchedByMpi(), "`yoke simulate` is one process: run it without mpirun");
    Require(!cluster_.empty(),
            "`yoke simulate` needs --cluster FILE, such as one of "
            "examples/clusters, or --profile FILE to write one");
    const ClusterFile file = ReadCluster(cluster_);
    Overrides keys = options_.Keys();
    SetReplicasOfCluster(file, cluster_, keys);
    const Job job = options_.Load(keys);
    const SimulatedCluster cluster = {
        .machines = file.Simulated(job.seed()),
        .simulate = Simulate,
        .title = file.title,
        .price_per_hour = file.PricePerHour(),
        .checkpoint_bytes_per_second = file.failures.checkpoint_bytes_per_second,
        .times_only = times_only_};
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
