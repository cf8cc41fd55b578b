// Speeds: the choice where training is too short for a search.
#pragma once

#include <string>

#include "plan/candidates.h"
#include "plan/plan.h"
#include "plan/trials.h"

namespace yoke {

/// Candidates with the default's strategy and its executor (or, on several devices, another that
/// updates by whole batches as it does) differ in their speed alone. Each trains for half a second
/// or 20 updates, if `trials.seconds` are enough for all, and the fastest one is chosen if it takes
/// 95 % of the default's time or less. The others are dropped, and nothing is priced.
/// `update_seconds`: of the default, about.
Plan CompareSpeeds(const Job& job, const Choices& choices, const Trials& trials,
                   double update_seconds);

}  // namespace yoke
