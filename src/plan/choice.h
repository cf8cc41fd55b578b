// Choice: the best candidate or the default, and the sentences that say why; by trials alone where
// training is too short for a search.
#pragma once

#include "plan/candidates.h"
#include "plan/plan.h"
#include "plan/trials.h"

namespace yoke {

/// What a choice follows from, for its sentences.
struct Evidence {
  const char* how;
  const char* takes;    ///< "A ... 80 % of the time of the default"
  const char* is_best;  ///< "A ...": where the default is out
};
inline constexpr Evidence kPredicted = {"predicted", "is predicted to take",
                                        "has the shortest predicted time"};
inline constexpr Evidence kLosses = {"in trials", "reached its loss with",
                                     "is the best of those that were tried"};
inline constexpr Evidence kSpeeds = {"in trials", "takes", "is the fastest"};

/// Chooses the best one, or the default if it gains less than 5 % of its time on it, and says of
/// the others why they are dropped. `standard`: the default; null: it is out.
void Choose(Candidate* best, Candidate* standard, double gain, const Evidence& evidence,
            Plan& plan);

/// Puts the chosen one first, then those that were tried.
void ShowFirst(Plan& plan);

/// Candidates that differ from the default in their precision alone make the same updates, at other
/// speeds. Each trains for half a second or 20 updates, if `trials.seconds` are enough for all, and
/// the fastest one is chosen if it takes 95 % of the default's time or less. The others are
/// dropped, and nothing is priced. Without the time for 5 updates of each the default stays.
/// `update_seconds`: of the default, about.
Plan CompareSpeeds(const Job& job, const Choices& choices, const Trials& trials,
                   double update_seconds);

}  // namespace yoke
