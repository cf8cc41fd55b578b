// MeasuredJob: the job without its strategy, resolved again.
#include "plan/measured_job.h"

#include <algorithm>
#include <utility>

#include "base/registry.h"
#include "optim/rule.h"
#include "plan/candidates.h"
#include "strategy/strategy.h"
#include "train/epoch_cursor.h"
#include "train/job/parts.h"

namespace yoke {

Job OneReplicaOf(const Job& job) {
  const StrategyEntry& strategy = StrategyOf(job);
  const bool forced = strategy.forces_momentum && job.train.String("rule") == "sgd";
  const std::string rule = forced ? "momentum" : job.train.String("rule");
  Overrides keys = {PlanKey("train.rule", rule)};
  const auto& options = FindEntry(rules(), "rule", rule).options;
  const bool has_velocity = std::ranges::count(options, "velocity", &OptionSpec::name) > 0;
  if (has_velocity && strategy.sums_steps(job.cluster) &&
      !job.resolved.Find("train")->Find("velocity"))
    keys.push_back(PlanKey("train.velocity", "steps"));
  return WithKeys(WithKeys(job, keys),  // apart: rule sgd would lose its velocity
                  {PlanKey("cluster.strategy", "none"), PlanKey("cluster.replicas", "1")});
}

MeasuredJob::MeasuredJob(const Job& job, const Graph& graph, const Reader& data,
                         std::vector<Device*> devices, const std::atomic<int>* stop)
    : job_(OneReplicaOf(job)),
      rule_(RuleOf(job_)),
      graph_(graph),
      data_(data),
      devices_(std::move(devices)),
      stop_(stop) {}

ProfileRequest MeasuredJob::By(const ThreadPlan& threads, double seconds) const {
  return {.graph = graph_,
          .rule = *rule_,
          .executor = FindEntry(executors(), "executor", job_.node.String("executor")),
          .node = job_.node,
          .devices = devices_,
          .data = data_,
          .batch = job_.train.Int("batch"),
          .arithmetic = ArithmeticOf(job_),
          .reference_kernels = job_.ReferenceKernels(),
          .threads = threads,
          .reads_in_step = EpochCursor::ThreadsReadingAhead(threads.threads) == 0,
          .learning_rate = job_.train.Float("learning_rate"),
          .clip_norm = job_.train.Float("clip_norm"),
          .examples = job_.train.Int("epochs") * data_.Size(),
          .seed = job_.seed(),
          .seconds = seconds,
          .stop = stop_};
}

}  // namespace yoke
