// Exchange: what ranks counted of their exchanges, brought together as metrics.
#pragma once

#include <vector>

#include "strategy/strategy.h"
#include "train/metrics.h"

namespace yoke {

/// What each rank counted, by rank: all of them call it.
std::vector<ExchangeCounts> GatherCounts(const Communicator& world, const ExchangeCounts& mine);

/// messages, bytes (of all ranks together), bytes_by_formula (those of them that MPI's collectives
/// sent, which are computed; where there are any), communicating (share of `seconds` that ranks
/// waited for messages, but for the first `servers`), updates, effective_batch (examples of one),
/// staleness_mean, staleness_95 (95 % of all updates had at most this many others between their
/// gradient and themselves), and consensus_distance (root mean square over the ranks of the
/// distance of their weights from the mean).
Metrics Summary(const std::vector<ExchangeCounts>& counts, double seconds, double distance,
                int servers = 0);

}  // namespace yoke
