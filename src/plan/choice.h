// Choice: the best candidate or the default, and the sentences that say why.
#pragma once

#include "plan/plan.h"

namespace yoke {

/// Chooses the best one, or the default if it gains less than 5 % of its time on it, and says of
/// the others why they are dropped. `standard`: the default; null: it is out. `how`: "predicted",
/// "in trials".
void Choose(Candidate* best, Candidate* standard, double gain, const char* how, Plan& plan);

/// Puts the chosen one first, then those that were tried.
void ShowFirst(Plan& plan);

}  // namespace yoke
