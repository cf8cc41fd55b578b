// SmallerJob: one option less, or all.
#include "train/recovery/smaller_job.h"

#include <utility>

#include "base/check.h"
#include "train/replica.h"

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

}  // namespace

Job SmallerJob(const Job& job, int ranks, std::vector<std::string>& messages) {
  Value root = job.resolved;
  Value* cluster = root.Find("cluster");
  cluster->Set("replicas", ranks);
  Job smaller = MakeJob(root, job.name, "");
  const std::string misfit = Misfit(smaller);
  if (misfit.empty()) return smaller;
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
