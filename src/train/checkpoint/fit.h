// Fit: which parts of a checkpoint a job can continue from.
#pragma once

#include <string>

#include "train/checkpoint/checkpoint.h"

namespace yoke {

/// Whether a key has the same value as in the checkpoint's job (or is absent in both).
bool SameKey(const Job& job, const CheckpointHeader& header, const char* section, const char* key);

/// Whether a checkpoint is from a job with the same strategy, rule and number of replicas, so that
/// its exact part applies.
bool GoesOnExactly(const Job& job, const CheckpointHeader& header);

/// Throws UserError with the run unless the training data are those of the checkpoint:
/// sizes, classes, inputs and labels.
void CheckSameData(const Job& job, const DataSets& sets, const CheckpointHeader& header,
                   const std::string& run);

}  // namespace yoke
