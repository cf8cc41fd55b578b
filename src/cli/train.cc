// yoke train: runs a job file, or continues a run.
#include "base/check.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "comm/launcher.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

constexpr const char* kDetails = R"(Examples:
  yoke train examples/demo.toml
  yoke train job.toml --set train.epochs=20 --set model.widths='[256, 256]' --run runs/wide
  yoke train job.toml --time-limit 2h               stop with a checkpoint after two hours
  yoke train --resume runs/wide                     continue, bit for bit, where that run stopped
  yoke train new.toml --from runs/wide              start from that run's weights
  yoke train job.toml --auto                        choose all that the job does not say
  yoke train job.toml --replicas 4 --strategy easgd_sync3
  mpirun -n 4 yoke train job.toml                   each process is a replica; srun works too

A run directory holds the resolved job (job.toml), checkpoints (last, best), metrics.jsonl, summary.json, log.txt and a
TensorBoard event file. Ctrl-C ends the batch, saves and says how to continue; a second Ctrl-C stops at once.
Exit status: 0 done, 2 a mistake in job, arguments or data, 3 diverged, 128 + signal after a stop by a signal,
1 anything else.
`yoke list keys` shows every key of a job file.)";

class TrainCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    options_.Declare(arguments);
    arguments.Option("--resume", "DIR", &resume_, "Continue the run in DIR; needs no job file");
    arguments.Option("--from", "CHECKPOINT", &from_,
                     "Start from these weights: a checkpoint, a run or an ONNX file (model.start)");
  }

  int Run(Output& out) override {
    CheckArguments();
    const bool guarded = StandGuard(options_.quiet() ? nullptr : &out);
    const bool resume = !resume_.empty();
    Overrides keys = options_.Keys();
    if (!from_.empty())
      keys.push_back({.key = "model.start", .value = from_, .flag = "--from", .text = true});
    SetReplicasOfLaunch(keys);
    const Job job =
        resume ? LoadRunJob(resume_, keys) : options_.Load(keys, {"train.learning_rate"});
    RunRequest request{.run = resume ? resume_ : options_.run(), .resume = resume};
    request.stop_signal = &CatchStopSignals();
    if (guarded) request.guard_lost = &CatchGuardLost();
    return options_.Train(job, std::move(request), out);
  }

 private:
  void CheckArguments() const {
    const std::string& job = options_.job();
    if (resume_.empty()) {
      Require(!job.empty(), "`yoke train` needs a job file, or --resume DIR to continue a run");
      return;
    }
    Require(job.empty(), "a run is resumed with its own job, {}/job.toml: leave out {}", resume_,
            job);
    Require(!options_.opens_all(), "a run that is resumed has chosen: leave out --auto");
    Require(from_.empty(), "a run is resumed from its own checkpoint: leave out --from");
    Require(options_.run().empty(), "--resume names the run directory already: leave out --run");
  }

  RunOptions options_;
  std::string resume_;
  std::string from_;
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
