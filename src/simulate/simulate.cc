// Simulate: the ranks' common clock, network and time line.
#include "simulate/simulate.h"

#include <memory>

#include "base/check.h"
#include "comm/simulated.h"
#include "simulate/simulated_run.h"
#include "simulate/times_only.h"
#include "train/events.h"
#include "train/record/timeline.h"
#include "train/start_run.h"

namespace yoke {
namespace {

/// A rank that has not failed is only slow, so no wait times out.
constexpr double kNoTimeout = 1e9;

/// On real nodes waits would time out before such a failure is detected.
void RequireDetection(const SimulatedFailures& failures, const Job& job) {
  const double timeout = job.cluster.Float("timeout");
  Require(failures.detection < timeout,
          "failures.detection: a failure that is detected after {:.3g} s ends the waits for the "
          "lost node too late: expected less than {}, {:.3g} s",
          failures.detection, job.cluster.Where("timeout"), timeout);
}

SimulatedRanks MachinesOf(const SimulatedCluster& cluster, const ThreadRanks& ranks) {
  SimulatedRanks machines = cluster.machines;
  machines.ranks = ranks.ranks;
  machines.timeout = kNoTimeout;
  machines.all_reduce = ranks.all_reduce;
  return machines;
}

void RunOn(const SimulatedRanks& machines, SimulatedBody& body) {
  SimulateLosses(machines, [&body](const Communicator& world, const SimulatedPlace& place) {
    body.Enter(world, place);
  });
}

}  // namespace

EndEvent Simulate(const Job& job, const RunRequest& request, RunContext& context,
                  const ThreadRanks& ranks) {
  SimulatedRanks cluster = MachinesOf(*request.cluster, ranks);
  Timeline timeline(cluster);
  cluster.timeline = context.timeline = &timeline;
  std::unique_ptr<SimulatedBody> run;
  OrAbandon(context, [&] {
    if (cluster.failures.death) RequireDetection(cluster.failures, job);
    if (request.TimesOnly())
      run = std::make_unique<TimesOnly>(job, request, context);
    else
      run = std::make_unique<SimulatedRun>(job, request, context);
    RunOn(cluster, *run);
  });
  WriteTimeline(context.folder, timeline.Picture());
  if (run->end().reason.empty())
    throw Error("the leading node has failed when others had already ended: the run has no end");
  return run->end();
}

TimedResult SimulateTimes(const Job& job, const RunRequest& request, const DataSets& data) {
  RunContext context = {.data = data};
  TimedRun run(job, request, context);
  RunOn(MachinesOf(*request.cluster, ThreadRanksOf(job)), run);
  return run.Result();
}

}  // namespace yoke
