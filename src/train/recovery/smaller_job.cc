// SmallerJob: one option less, or all.
#include "train/recovery/smaller_job.h"

#include <utility>

#include "base/check.h"
#include "train/replica.h"

namespace yoke {
namespace {

/// The reason why a job's strategy cannot run with this many ranks, or "".
std::string Misfit(const Job& job, int ranks) try {
  RolesIn(StrategyOf(job), job.cluster, ranks);
  return "";
} catch (const UserError& problem) {
  return problem.what();
}

}  // namespace

Job SmallerJob(const Job& job, int ranks, std::vector<std::string>& messages) {
  Value root = job.resolved;
  Value* cluster = root.Find("cluster");
  cluster->Set("replicas", ranks);
  const std::string misfit = Misfit(job, ranks);
  if (misfit.empty()) return MakeJob(std::move(root), job.name, "");
  for (const OptionSpec& option : StrategyOf(job).options) {  // one option, if that is enough
    Value without = root;
    without.Find("cluster")->Erase(option.name);
    Job fitting = MakeJob(std::move(without), job.name, "");
    if (!Misfit(fitting, ranks).empty()) continue;
    messages.push_back(fmt::format("{}; {} is reset to its default", misfit, option.name));
    return fitting;
  }
  for (const OptionSpec& option : StrategyOf(job).options) cluster->Erase(option.name);
  Job fitting = MakeJob(std::move(root), job.name, "");
  if (const std::string still = Misfit(fitting, ranks); !still.empty()) throw UserError(still);
  messages.push_back(fmt::format("{}; all options of {} are reset to their defaults", misfit,
                                 StrategyOf(job).name));
  return fitting;
}

}  // namespace yoke
