// Speeds: the choice where training is too short for a search.
#pragma once

#include "plan/candidates.h"
#include "plan/plan.h"
#include "plan/trials.h"

namespace yoke {

/// Candidates that differ from the default in their precision alone make the same updates, at other
/// speeds. Each trains for half a second or 20 updates, if `trials.seconds` are enough for all, and
/// the fastest one is chosen if it takes 95 % of the default's time or less. The others are
/// dropped, and nothing is priced. Without the time for 5 updates of each the default stays.
/// `update_seconds`: of the default, about.
Plan CompareSpeeds(const Job& job, const Choices& choices, const Trials& trials,
                   double update_seconds);

}  // namespace yoke
