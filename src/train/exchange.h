// Exchange: combines the ranks' exchange counters into metrics.
#pragma once

#include <vector>

#include "strategy/strategy.h"
#include "train/metrics.h"

namespace yoke {

/// The counters of each rank, by rank; all ranks call it.
std::vector<ExchangeCounts> GatherCounts(const Communicator& world, const ExchangeCounts& mine);

/// messages, bytes (of all ranks together), bytes_by_formula (the computed part, sent by MPI's
/// collectives; if any), communicating (fraction of `seconds` that ranks waited as in
/// ExchangeCounts::seconds_waiting, excluding the first `servers`), updates, effective_batch
/// (examples per update), staleness_mean, staleness_95 (updates between the values of a gradient
/// and its own update: mean and 95th percentile), and consensus_distance (root mean square over the
/// ranks of the distance of their weights from the mean).
Metrics Summary(const std::vector<ExchangeCounts>& counts, double seconds, double distance,
                int servers = 0);

}  // namespace yoke
