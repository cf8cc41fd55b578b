// StalenessNote: warns if a job's rate is high for the staleness that its strategy causes.
#pragma once

#include <string>

#include "strategy/strategy.h"
#include "train/job/job.h"

namespace yoke {

/// A sentence for the start of a run, with figures; "" if the strategy has no server, only one
/// worker or team pushes, or the rate is low enough. `strategy`: the job's.
std::string StalenessNote(const Job& job, const StrategyEntry& strategy, int world);

}  // namespace yoke
