// The estimates of hogwild, hogbatch and adaptive_hogbatch.
#pragma once

#include "node/batch_sizes.h"
#include "node/estimate.h"

namespace yoke {

/// Fixed batches. Workers never wait, so their rates add up:
///   examples a second = threads b / t(b) + sum over devices of B / T(B)
///   t(b) = pass(b) + update, by one of `threads` CPU threads, which share the bandwidth
///   T(B) = copies + pass(B) on the device, + by a CPU thread its update, merged, and the copies
///          in the host's memory
/// (Ma and Rusu 2020, CPU+GPU Hogbatch.)
ExecutorEstimate EstimateHogbatch(const BatchSizes::Settings& sizes,
                                  const EstimateRequest& request);

/// Batches that move (Ma and Rusu 2020, Adaptive Hogbatch). Where a threshold binds on both sides
/// the rates are those of fixed batches. Elsewhere the sizes swing around equal numbers of updates,
/// and how far depends on what is in hand when they are asked for, so the rule itself is followed
/// through the examples of an epoch, or 10^5 pieces of work, with the times above.
ExecutorEstimate EstimateAdaptiveHogbatch(const BatchSizes::Settings& sizes, bool measure_least,
                                          const EstimateRequest& request);

}  // namespace yoke
