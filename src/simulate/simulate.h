// Simulate: a job's ranks in virtual time on a simulated cluster, with gradients or with times
// only.
#pragma once

#include "comm/threads.h"
#include "simulate/timed_run.h"
#include "train/job/job.h"
#include "train/rank.h"

namespace yoke {

/// For SimulatedCluster::simulate. Runs the ranks on the request's cluster and writes their time
/// line into the run. `context` has the run and the data.
EndEvent Simulate(const Job& job, const RunRequest& request, RunContext& context,
                  const ThreadRanks& ranks);

/// The times of a job's steps on the request's cluster, without a run: nothing is written or told.
TimedResult SimulateTimes(const Job& job, const RunRequest& request, const DataSets& data);

}  // namespace yoke
