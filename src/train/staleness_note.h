// StalenessNote: whether a job's rate is too high for gradients as late as its strategy makes them.
#pragma once

#include <string>

#include "strategy/strategy.h"
#include "train/job.h"

namespace yoke {

/// A sentence for the start of a run, with figures; "" where nothing is to be said: the strategy
/// has no server, one worker or team alone pushes to it, or the rate is low enough. `strategy`: the
/// job's.
std::string StalenessNote(const Job& job, const StrategyEntry& strategy, int world);

}  // namespace yoke
