// Leaders: every candidate's price, and those with the shortest predicted time, which are tried.
#pragma once

#include <vector>

#include "plan/candidates.h"
#include "plan/efficiency.h"
#include "plan/search.h"

namespace yoke {

inline constexpr size_t kLeaders = 4;  // that are tried

/// The gradient's noise scale over the training, in examples; a large number where it is unknown.
double NoiseOf(const SearchRequest& request);

/// The best by prediction first, then what has no price, then what is dropped. Among them are the
/// other strategies of the replicas that are fastest with allreduce. Throws UserError if none is
/// left.
std::vector<Candidate> PricedCandidates(const SearchRequest& request);

/// Drops all but the leaders and the default, which is not tried if it is far behind, unless it
/// has trained. Leaders of several replicas differ in strategy.
void KeepLeaders(const SearchRequest& request, std::vector<Candidate>& candidates);

/// Predicts by another efficiency, also in reasons for dropping.
void PriceAgain(const Efficiency& before, const Efficiency& now,
                std::vector<Candidate>& candidates);

/// Of the first `fit` ones, those that were not tried: the best by prediction first.
void SortUntried(size_t fit, std::vector<Candidate>& candidates);

}  // namespace yoke
