// Times only: a job's strategy on a simulated cluster, without gradients, for very many nodes.
#pragma once

#include <memory>

#include "simulate/simulated_run.h"

namespace yoke {

/// Runs the job's steps on the request's cluster and reports them as Train does; failures of nodes
/// lose steps and time as they do with gradients. Every replica has a full batch in every step,
/// even where the data have fewer examples than a step takes. With request.steps, exactly so many
/// steps; otherwise the job's epochs. Nothing is evaluated, and a checkpoint is only the time that
/// it takes. Throws UserError for jobs that TimedModel does not take.
std::unique_ptr<SimulatedBody> MakeTimesOnly(const Job& job, const RunRequest& request,
                                             RunContext& context);

}  // namespace yoke
