// Fit: what of a checkpoint holds for the job that goes on from it.
#pragma once

#include <string>

#include "train/checkpoint.h"

namespace yoke {

/// Whether a key says what it said in the job of a checkpoint (or both leave it out).
bool SameKey(const Job& job, const CheckpointHead& head, const char* section, const char* key);

/// Whether a checkpoint was written by a job of the same strategy, rule and number of replicas: the
/// exact part of it counts.
bool GoesOnExactly(const Job& job, const CheckpointHead& head);

/// Throws UserError, naming the run, unless the training data are those that the checkpoint knew.
void CheckSameData(const Job& job, const Reader& data, const CheckpointHead& head,
                   const std::string& run);

}  // namespace yoke
