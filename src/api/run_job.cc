// RunJob, PlanJob: the trainer with a planner, and a plan of all that a job can leave open.
#include "api/run_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "comm/wire_transport.h"
#include "plan/planner.h"
#include "simulate/simulate.h"
#include "train/job/devices.h"
#include "train/trainer.h"

namespace yoke {
namespace {

/// Refuses what neither a prediction nor trials can decide.
void RequirePrices(const Job& job) {
  const size_t devices = DevicesOf(job).all().size();
  Require(devices == 1 || job.cluster.Int("replicas") == 1,
          "{}: replicas that train on {} devices each have no predicted time, and there are no "
          "trials: give each replica one device, or plan for one replica",
          job.node.Where("devices"), devices);
}

/// For each precision: less where trials are short.
double ProfileSeconds(double trial_seconds) {
  return trial_seconds > 0 ? std::clamp(trial_seconds / 4, 0.5, 3.0) : 3;
}

/// Empty unless it is known.
Value Known(double value) { return value > 0 ? Value(value) : Value(); }
Value Known(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

Table ToTable(const Candidate& one) {
  Value keys = Table();
  for (const Override& key : one.keys) keys.Set(key.key, key.value);
  return {{"name", one.name},
          {"keys", keys},
          {"executor", one.executor},
          {"strategy", one.strategy},
          {"precision", one.precision},
          {"seconds_per_update", Known(one.seconds_per_update)},
          {"updates", Known(one.updates)},
          {"seconds", Known(one.Seconds())},
          {"measured", Known(one.measured)},
          {"trial_loss", Known(one.loss)},
          {"dropped", one.dropped.empty() ? Value() : Value(one.dropped)}};
}

}  // namespace

bool SaysReplicas(const Job& job) { return std::ranges::count(job.open, kReplicasKey) == 0; }

Plan PlanJob(const Job& job, const PlanOptions& options, const RunRequest& run) {
  const ClusterFile* cluster = options.cluster;
  if (!cluster && options.trial_seconds == 0) RequirePrices(job);
  return MakePlan({.job = job,
                   .run = run,
                   .choices = {.open = OpenKeys(),
                               .models = true,
                               .only = options.only,
                               .without = options.without},
                   .cluster = cluster,
                   .cluster_name = cluster ? cluster->title : "",
                   .profile_seconds = ProfileSeconds(options.trial_seconds),
                   .trial_seconds = options.trial_seconds,
                   .tunes_momentum = std::ranges::count(job.open, "train.momentum") > 0,
                   .tries_parts = true,
                   .tries_replicas = cluster ? !options.keeps_replicas : !SaysReplicas(job),
                   .omnivore = options.omnivore,
                   .folder = options.folder,
                   .tell = options.tell});
}

Table ToTable(const Plan& plan) {
  List candidates;
  for (const Candidate& one : plan.candidates) candidates.emplace_back(ToTable(one));
  return {{"machine", plan.machine},
          {"chosen", plan.chosen},
          {"noise_scale", Known(plan.noise_scale)},
          {"notes", ListOf(plan.notes)},
          {"planning_seconds", plan.seconds},
          {"candidates", std::move(candidates)}};
}

EndEvent RunJob(const Job& job, RunRequest request, const ClusterFile* cluster) {
  const std::unique_ptr<Planner> planner = MakePlanner(cluster);
  request.planner = planner.get();
  EndEvent end = Train(job, request);
  // The rank that led has the sentence.
  if (end.reason == "diverged")
    throw WorldError(end.sentence, end.exit_status, /*tell=*/!end.sentence.empty());
  return end;
}

SimulatedCluster ClusterOf(const ClusterFile& file, const Job& job, bool times_only) {
  return {.machines = file.Simulated(job.seed()),
          .simulate = Simulate,
          .title = file.title,
          .price_per_hour = file.PricePerHour(),
          .checkpoint_bytes_per_second = file.failures.checkpoint_bytes_per_second,
          .times_only = times_only};
}

void SetReplicas(int replicas, const std::string& why, Overrides& keys) {
  const std::string size = std::to_string(replicas);
  for (const Override& given : keys)
    Require(given.key != "cluster.replicas" || given.value == size, "{}: {}; leave it out",
            given.flag, why);
  keys.push_back({.key = "cluster.replicas", .value = size});
}

void SetReplicasOfCluster(const ClusterFile& cluster, const std::string& path, Overrides& keys) {
  SetReplicas(cluster.Ranks(),
              fmt::format("{} describes {} replica{}", path, cluster.Ranks(),
                          cluster.Ranks() == 1 ? "" : "s"),
              keys);
}

}  // namespace yoke
