// TimedWorld: sizes, and what is done.
#include "simulate/timed_world.h"

#include <algorithm>

#include "train/job/parts.h"

namespace yoke {
namespace {

int64_t StepsFor(int64_t examples, int64_t step) {
  return std::max<int64_t>(1, (examples + step - 1) / step);
}

}  // namespace

TimedWorld::TimedWorld(const Job& of_job, const Reader& examples, int ranks,
                       const TimedProgress& at)
    : job(of_job),
      roles(RolesIn(StrategyOf(job), job.cluster, ranks)),
      model(job, examples.Info(), ranks),
      begun(at),
      dealer(roles, ranks, at.steps),
      counts(ranks),
      step_examples(static_cast<double>(model.batch.size * roles.team)),
      epoch_steps(StepsFor(examples.Size(), model.batch.size * roles.team)),
      steps_per_epoch(StepsFor(examples.Size(), model.batch.size * roles.workers)) {}

TimedProgress TimedWorld::Done(const std::vector<int>& lost) const {
  TimedProgress done = {.steps = dealer.done(), .examples = begun.examples};
  if (!StrategyOf(job).replicas_differ) {
    done.examples = ExamplesBefore(done.steps);
    return done;
  }
  int64_t steps = dealer.ranks_done();
  for (const int rank : lost) steps -= dealer.alone(rank);
  done.examples += static_cast<double>(steps * model.batch.size);
  return done;
}

}  // namespace yoke
