// yoke train: runs a job file, or continues a run.
#include <CLI/CLI.hpp>

#include "base/check.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/job_options.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "comm/launcher.h"
#include "train/record/run_directory.h"
#include "train/trainer.h"

namespace yoke {
namespace {

constexpr const char* kDetails = R"(Examples:
  yoke train examples/demo.toml
  yoke train job.toml --set train.epochs=20 --set model.widths='[256, 256]' --run runs/wide
  yoke train job.toml --time-limit 2h               stop with a checkpoint after two hours
  yoke train --resume runs/wide                     continue, bit for bit, where that run stopped
  yoke train job.toml --replicas 4 --strategy easgd_sync3
  mpirun -n 4 yoke train job.toml                   each process is a replica; srun works too

A run directory holds the resolved job (job.toml), checkpoints (last, best), metrics.jsonl, summary.json, log.txt and a
TensorBoard event file. Ctrl-C ends the batch, saves and says how to continue; a second Ctrl-C stops at once.
Exit status: 0 done, 2 a mistake in job, arguments or data, 3 diverged, 128 + signal after a stop by a signal,
1 anything else.
`yoke list keys` shows every key of a job file.)";

class TrainCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("JOB", job_, "The job file (TOML)")->option_text(" ");
    app.add_option("--run", run_, "Run directory (default: runs/<job>-<time>)")
        ->option_text("DIR")
        ->check([](const std::string& text) {
          return std::string(text.empty() ? "expected a folder, got an empty name" : "");
        });
    app.add_option("--resume", resume_, "Continue the run in DIR; needs no job file")
        ->option_text("DIR");
    set_.Declare(app);
    app.add_flag("--quiet,-q", quiet_, "Print errors only");
  }

  int Run(Output& out) override {
    CheckArguments();
    const bool guarded = StandGuard(quiet_ ? nullptr : &out);
    const bool resume = !resume_.empty();
    Overrides keys = set_.Read();
    if (const Launch launch = FindLaunch(); !launch.launcher.empty()) CountRanks(launch, keys);
    const Job job = resume ? LoadRunJob(resume_, keys) : LoadJob(job_, keys);
    const std::unique_ptr<Observer> progress = MakeProgress(out);
    RunRequest request{.run = resume ? resume_ : run_, .resume = resume};
    request.stop_signal = &CatchStopSignals();
    if (guarded) request.guard_lost = &CatchGuardLost();
    if (!quiet_) request.observers = {progress.get()};
    const EndEvent end = Train(job, request);
    if (end.reason == "diverged") throw WorldError(end.sentence, end.exit_status, /*tell=*/true);
    // The other ranks end later, because a launcher ends all processes when one fails.
    if (end.exit_status != 0 && !PrintsForAll())
      throw WorldError("", end.exit_status, /*tell=*/false);
    return end.exit_status;
  }

 private:
  /// The launcher's processes are the replicas.
  static void CountRanks(const Launch& launch, Overrides& keys) {
    const std::string size = std::to_string(launch.size);
    for (const Override& given : keys)
      Require(given.key != "cluster.replicas" || given.value == size,
              "{}: {} started {} processes, and each is a replica; leave it out", given.flag,
              launch.launcher, size);
    keys.push_back({.key = "cluster.replicas", .value = size});
  }

  void CheckArguments() const {
    if (resume_.empty()) {
      Require(!job_.empty(), "`yoke train` needs a job file, or --resume DIR to continue a run");
      return;
    }
    Require(job_.empty(), "a run is resumed with its own job, {}/job.toml: leave out {}", resume_,
            job_);
    Require(run_.empty(), "--resume names the run directory already: leave out --run");
  }

  std::string job_;
  std::string run_;
  std::string resume_;
  JobOptions set_;
  bool quiet_ = false;
};

}  // namespace

CommandEntry train_command() {
  return {"train",
          "Train and use a model",
          "Train the model of a job file on its data",
          kDetails,
          [] { return std::unique_ptr<Command>(new TrainCommand); },
          /*together=*/true};
}

}  // namespace yoke
