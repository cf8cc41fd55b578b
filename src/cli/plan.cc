// yoke plan: measures what is here, compares the ways to train a job, and says which is fastest.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "api/run_job.h"
#include "base/check.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "comm/launcher.h"
#include "data/writers.h"
#include "plan/plan.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

constexpr const char* kPlanDetails = R"(Examples:
  yoke plan job.toml                                  what is fastest on this machine, and why
  yoke plan job.toml --output plan.toml               then: yoke train job.toml --plan plan.toml
  yoke plan job.toml --replicas 4 --without bf16,hogwild
  yoke plan job.toml --only allreduce,easgd_sync3 --trial-seconds 60
  yoke plan job.toml --cluster examples/clusters/rack-10gbit.toml
  yoke plan job.toml --replicas 4 --method omnivore   by Omnivore's optimizer as published
  mpirun -n 4 yoke plan job.toml                      for the world of these processes

Prices every executor, strategy, period, precision and division of the cores on the measured machine, in virtual time
for several replicas.
Then the four with the shortest predicted time and the job's default train in turns, for longer and longer, and the
better half goes on. With --cluster the prediction decides. docs/plan.md explains the table.)";

constexpr size_t kRows = 16;          // of the table
constexpr double kMostSeconds = 1e6;  // of all trials

/// Ends the process half a second after a stop signal, whatever is measured then, and calls
/// `clean_up` before.
class StopSoon {
 public:
  StopSoon(const std::atomic<int>& signal, std::function<void()> clean_up)
      : signal_(signal), clean_up_(std::move(clean_up)), thread_([this] { Watch(); }) {}
  ~StopSoon() {
    over_ = true;
    thread_.join();
  }
  StopSoon(const StopSoon&) = delete;
  StopSoon& operator=(const StopSoon&) = delete;

 private:
  void Watch() {
    using std::chrono::milliseconds;
    constexpr int kLooks = 10;
    constexpr milliseconds kApart(50);
    for (int after = 0; !over_ && after < kLooks; after += signal_ != 0 ? 1 : 0)
      std::this_thread::sleep_for(kApart);
    if (over_) return;
    clean_up_();
    _exit(128 + signal_);
  }

  const std::atomic<int>& signal_;
  std::function<void()> clean_up_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

class PlanCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("JOB", &job_, "The job file (TOML)");
    arguments.Option("--output", "FILE", &output_, "Write the plan, for `yoke train --plan`");
    arguments.Option("--cluster", "FILE", &cluster_, "Plan for the cluster of this file");
    arguments
        .Option("--only", "A,B,...", &only_,
                "The only executors, strategies, precisions, parts or replicas to compare")
        .Commas();
    arguments
        .Option("--without", "A,B,...", &without_,
                "Executors, strategies, precisions, parts or replicas to leave out")
        .Commas();
    arguments.Option("--trial-seconds", "N", &trial_seconds_, "Of all trials together; 0: none");
    arguments.Option("--method", "NAME", &method_,
                     "yoke: prices and trials; omnivore: Omnivore's optimizer as published, which "
                     "chooses compute groups, learning rate and momentum (default: the job's "
                     "train.planner)");
    set_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!job_.empty(), "`yoke plan` needs a job file");
    Require(trial_seconds_ >= 0 && trial_seconds_ <= kMostSeconds,
            "--trial-seconds: expected seconds from 0 to {}, got {}", kMostSeconds, trial_seconds_);
    Overrides keys = set_.Read();
    std::optional<ClusterFile> cluster;
    if (!cluster_.empty()) cluster = ReadCluster(cluster_);
    if (cluster && cluster->title.empty())
      cluster->title = std::filesystem::path(cluster_).filename().string();
    const bool keeps_replicas =
        cluster && cluster->Ranks() == 1 && SaysReplicas(LoadJob(job_, keys, {kReplicasKey}));
    if (cluster)
      SetReplicasOfCluster(*cluster, cluster_, keys);
    else
      SetReplicasOfLaunch(keys);
    const Job job = LoadJob(job_, keys, {kReplicasKey});
    if (method_.empty()) method_ = job.train.String("planner");
    RequireMethod();
    std::optional<OutputFile> file;  // refused before anything is measured
    if (!output_.empty() && PrintsForAll()) {
      std::vector<std::string> inputs = InputsOf(job, job_);
      inputs.push_back(cluster_);
      RequireNoInput(output_, inputs);
      file.emplace(output_);
    }
    const std::atomic<int>& signal = CatchStopSignals();
    std::optional<MpiJob> launched;
    if (LaunchedByMpi() && !cluster) launched.emplace(job.cluster.Float("timeout"), &signal);
    const TemporaryFolder folder("yoke-plan");
    RunRequest run;
    run.stop_signal = &signal;
    if (launched) run.launched = &*launched;
    std::optional<StopSoon> watch;
    watch.emplace(signal, [&] {
      file.reset();
      std::error_code ignored;
      std::filesystem::remove_all(folder.path(), ignored);
    });
    const Plan plan = PlanJob(job,
                              {.cluster = cluster ? &*cluster : nullptr,
                               .only = only_,
                               .without = without_,
                               .trial_seconds = trial_seconds_,
                               .keeps_replicas = keeps_replicas,
                               .omnivore = method_ == "omnivore",
                               .folder = folder.path(),
                               .tell = [&out](const std::string& text) { out.Text(text); }},
                              run);
    watch.reset();
    if (signal != 0) return 128 + signal;
    if (plan.candidates.empty()) return 0;  // another rank prints
    Tell(plan, out);
    if (!file) return 0;
    file->Write(FormatPlan(plan, fmt::format("yoke plan {}", job_)));
    file->Commit();
    return 0;
  }

 private:
  void RequireMethod() const {
    if (method_ == "yoke") return;
    Require(method_ == "omnivore", "--method: expected yoke or omnivore, got {}", method_);
    Require(cluster_.empty() && trial_seconds_ > 0,
            "--method omnivore needs trials, which a plan {} has not: `yoke simulate` and `yoke "
            "train` take it as train.planner",
            cluster_.empty() ? "with --trial-seconds 0" : "for a cluster");
    Require(only_.empty() && without_.empty(),
            "--method omnivore compares settings of compute_groups alone: leave out --only and "
            "--without");
  }

  void Tell(const Plan& plan, Output& out) const {
    const auto rows = TableOf(plan, kRows);
    out.Text("");
    for (const std::string& line : TableLines(rows, {1, 2, 3, 4, 5})) out.Text(line);
    size_t rest = 0;
    for (const Candidate& one : plan.candidates)
      rest += one.seconds_per_update == 0 && !one.measured;
    if (rest > 0) out.Text(fmt::format("{} more do not fit (--json lists them)", rest));
    out.Text("");
    for (const std::string& note : plan.notes) out.Text(note);
    out.Text(fmt::format("planned for {} in {}", plan.machine, Duration(plan.seconds)));
    out.Event("plan", Join({{"job", job_}}, ToTable(plan)));
  }

  std::string job_, output_, cluster_, method_;
  std::vector<std::string> only_, without_;
  double trial_seconds_ = 20;
  JobOptions set_;
};

}  // namespace

CommandEntry plan_command() {
  return {"plan",
          "Train and use a model",
          "Compare the ways to train a job on this machine",
          kPlanDetails,
          [] { return std::unique_ptr<Command>(new PlanCommand); },
          /*together=*/true};
}

}  // namespace yoke
