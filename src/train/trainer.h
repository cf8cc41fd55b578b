// Trainer: the training loop, which connects data, model, executor, strategy, evaluation,
// checkpoints and record.
#pragma once

#include "train/events.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

/// Trains, and writes the run directory with its lock, job.toml, metrics, events and checkpoints.
/// Returns the final event. Throws UserError or Error if it cannot start or continue.
EndEvent Train(const Job& job, const RunRequest& request);

}  // namespace yoke
