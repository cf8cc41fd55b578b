// SmallerJob: one option less, or all.
#include "train/recovery/smaller_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

/// The reason why the job's strategy cannot run with its replicas, or "".
std::string Misfit(const Job& job) try {
  RolesOf(job);
  BatchOf(job);
  return "";
} catch (const UserError& problem) {
  return problem.what();
}

/// The largest batch up to the job's that the replicas of a group can share equally.
Job WithSharedBatch(const Job& job) try {
  if (!StrategyOf(job).divides_batch(job.cluster)) return job;
  const int64_t team = RolesOf(job).team, batch = job.train.Int("batch");
  const int64_t shared = std::max(team, batch - batch % team);
  return WithKeys(job, {{.key = "train.batch", .value = std::to_string(shared)}});
} catch (const UserError&) {  // the groups do not fit
  return job;
}

}  // namespace

Job SmallerJob(const Job& job, int ranks, std::vector<std::string>& messages) {
  Value root = job.resolved;
  Value* cluster = root.Find("cluster");
  cluster->Set("replicas", ranks);
  Job smaller = MakeJob(root, job.name, "");
  const std::string misfit = Misfit(smaller);
  if (misfit.empty()) return smaller;
  Job shared = WithSharedBatch(smaller);
  if (Misfit(shared).empty()) {
    messages.push_back(fmt::format("{}; it is {}", misfit, shared.train.Int("batch")));
    return shared;
  }
  for (const OptionSpec& option : StrategyOf(job).options) {  // one option, if that is enough
    Value without = root;
    without.Find("cluster")->Erase(option.name);
    Job fitting = MakeJob(std::move(without), job.name, "");
    if (!Misfit(fitting).empty()) continue;
    messages.push_back(fmt::format("{}; {} is reset to its default", misfit, option.name));
    return fitting;
  }
  for (const OptionSpec& option : StrategyOf(job).options) cluster->Erase(option.name);
  Job fitting = MakeJob(std::move(root), job.name, "");
  if (const std::string still = Misfit(fitting); !still.empty()) throw UserError(still);
  messages.push_back(fmt::format("{}; all options of {} are reset to their defaults", misfit,
                                 StrategyOf(job).name));
  return fitting;
}

}  // namespace yoke
