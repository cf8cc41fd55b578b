// StepTable: the operations of a job's training step, in order.
#pragma once

#include "cli/output.h"
#include "data/reader.h"
#include "model/graph.h"
#include "train/job/job.h"

namespace yoke {

/// Prints, for each device of the job, what a step of its whole batch runs: layers, kernels,
/// floating-point operations and bytes. Reads one batch and runs no kernel. Throws UserError for a
/// model that a device does not take.
void PrintSteps(const Job& job, const Reader& data, const Graph& graph, Output& out);

}  // namespace yoke
