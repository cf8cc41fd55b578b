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

}  // namespace

EndEvent Simulate(const Job& job, const RunRequest& request, RunContext& context,
                  const ThreadRanks& ranks) {
  SimulatedRanks cluster = *request.cluster;
  cluster.ranks = ranks.ranks;
  cluster.timeout = kNoTimeout;
  cluster.all_reduce = ranks.all_reduce;
  Timeline timeline(cluster);
  cluster.timeline = context.timeline = &timeline;
  std::unique_ptr<SimulatedBody> run;
  OrAbandon(context, [&] {
    if (cluster.failures.death) RequireDetection(cluster.failures, job);
    if (request.times_only)
      run = MakeTimesOnly(job, request, context);
    else
      run = std::make_unique<SimulatedRun>(job, request, context);
    SimulateLosses(cluster, [&](const Communicator& world, const SimulatedPlace& place) {
      run->Enter(world, place);
    });
  });
  WriteTimeline(context.folder, timeline.Picture());
  if (run->end().reason.empty())
    throw Error("the leading node has failed when others had already ended: the run has no end");
  return run->end();
}

}  // namespace yoke
