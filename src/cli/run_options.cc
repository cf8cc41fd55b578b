// RunOptions: declares the options, and trains with them.
#include "cli/run_options.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/check.h"
#include "cli/progress.h"
#include "comm/launcher.h"
#include "measure/cluster_file.h"
#include "plan/planner.h"
#include "train/trainer.h"

namespace yoke {

void RunOptions::Declare(Arguments& arguments) {
  arguments.Place("JOB", &job_, "The job file (TOML)");
  arguments.Option("--run", "DIR", &run_, "Run directory (default: runs/<job>-<time>)")
      .Check([](const std::string& text) {
        return std::string(text.empty() ? "expected a folder, got an empty name" : "");
      });
  arguments.Option("--plan", "FILE", &plan_,
                   "Set the keys that `yoke plan --output FILE` has chosen");
  arguments.Flag("--auto", &auto_,
                 "Choose what the job does not say: executor, strategy, precision, learning rate, "
                 "momentum");
  set_.Declare(arguments);
  arguments.Flag("--quiet,-q", &quiet_, "Print errors only");
}

Overrides RunOptions::Keys() const {
  Overrides keys = plan_.empty() ? Overrides() : ReadPlanKeys(plan_);
  const Overrides set = set_.Read();
  keys.insert(keys.end(), set.begin(), set.end());
  return keys;
}

Job RunOptions::Load(const Overrides& keys, const std::vector<std::string>& open) const {
  return LoadJob(job_, keys, auto_ ? OpenKeys() : open);
}

int RunOptions::Train(const Job& job, RunRequest request, Output& out,
                      const ClusterFile* cluster) const {
  const std::unique_ptr<Observer> progress = MakeProgress(out);
  if (!quiet_) request.observers.push_back(progress.get());
  const std::unique_ptr<Planner> planner = MakePlanner(cluster);
  request.planner = planner.get();
  const EndEvent end = yoke::Train(job, request);
  // The rank that led has the sentence.
  if (end.reason == "diverged")
    throw WorldError(end.sentence, end.exit_status, /*tell=*/!end.sentence.empty());
  // The other ranks end later, because a launcher ends all processes when one fails.
  if (end.exit_status != 0 && !PrintsForAll())
    throw WorldError("", end.exit_status, /*tell=*/false);
  return end.exit_status;
}

void SetReplicas(int replicas, const std::string& why, Overrides& keys) {
  const std::string size = std::to_string(replicas);
  for (const Override& given : keys)
    Require(given.key != "cluster.replicas" || given.value == size, "{}: {}; leave it out",
            given.flag, why);
  keys.push_back({.key = "cluster.replicas", .value = size});
}

void SetReplicasOfLaunch(Overrides& keys) {
  const Launch launch = FindLaunch();
  if (launch.launcher.empty()) return;
  SetReplicas(
      launch.size,
      fmt::format("{} started {} processes, and each is a replica", launch.launcher, launch.size),
      keys);
}

void SetReplicasOfCluster(const ClusterFile& cluster, const std::string& path, Overrides& keys) {
  SetReplicas(cluster.Ranks(), fmt::format("{} describes {} replicas", path, cluster.Ranks()),
              keys);
}

}  // namespace yoke
