// Choice: the best candidate or the default, and the sentences that say why.
#pragma once

#include "plan/plan.h"

namespace yoke {

/// What a choice follows from, for its sentences.
struct Evidence {
  const char* how;
  const char* takes;  ///< "A ... 80 % of the time of the default"
};
inline constexpr Evidence kPredicted = {"predicted", "is predicted to take"};
inline constexpr Evidence kLosses = {"in trials", "reached its loss with"};
inline constexpr Evidence kSpeeds = {"in trials", "takes"};

/// Chooses the best one, or the default if it gains less than 5 % of its time on it, and says of
/// the others why they are dropped. `standard`: the default; null: it is out.
void Choose(Candidate* best, Candidate* standard, double gain, const Evidence& evidence,
            Plan& plan);

/// Puts the chosen one first, then those that were tried.
void ShowFirst(Plan& plan);

}  // namespace yoke
