// Times only: a job's strategy on a simulated cluster, without gradients. Each rank has a shrunken
// model of a few elements a slice, whose messages and arithmetic are billed at the size of the real
// one, so that a hundred thousand ranks fit into a machine.
#pragma once

#include "train/rank.h"

namespace yoke {

/// Runs the job's steps on the request's cluster and reports them as Train does. Every replica has
/// a full batch in every step, even where the data have fewer examples than a step takes. With
/// request.steps, exactly so many steps; otherwise the job's epochs. Nothing is saved and nothing
/// is evaluated. Throws UserError for executors other than `single`, and for models with slices of
/// which a step touches some rows only, because their number depends on the data.
EndEvent SimulateTimes(const Job& job, const RunRequest& request, RunContext& context,
                       AllReduceAlgorithm all_reduce);

}  // namespace yoke
