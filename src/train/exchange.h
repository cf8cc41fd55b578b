// Exchange: combines the ranks' exchange counters into figures of the run, and these into metrics.
#pragma once

#include <optional>
#include <vector>

#include "strategy/strategy.h"
#include "tensor/array.h"
#include "train/metrics.h"

namespace yoke {

/// The counters of each rank, by rank; all ranks call it.
std::vector<ExchangeCounts> GatherCounts(const Communicator& world, const ExchangeCounts& mine);

/// What all ranks have exchanged, and how long they took. What is unknown, or does not occur, is
/// left out.
struct ExchangeSummary {
  double messages = 0, bytes = 0;
  std::optional<double> bytes_by_formula = {};  ///< The computed part, of MPI's collectives.
  std::optional<double> communicating = {};     ///< Fraction of the time that workers waited.
  std::optional<double> updates = {};
  std::optional<double> effective_batch = {};  ///< Examples per update.
  /// Updates between the values of a gradient and its own update: mean and 95th percentile.
  std::optional<double> staleness_mean = {}, staleness_95 = {};
  /// Root mean square over the ranks of the distance of their weights from the mean.
  std::optional<double> consensus_distance = {};
  std::optional<double> step_seconds = {};  ///< Of all steps, without meetings.
  /// Of a meeting and of a checkpoint, on average.
  std::optional<double> meeting_seconds = {}, checkpoint_seconds = {};
};

/// Of the counters of all ranks in so many seconds, the first ranks being servers; without distance
/// and seconds.
ExchangeSummary Summary(const std::vector<ExchangeCounts>& counts, double seconds, int servers = 0);

/// Called by all ranks: the root mean square of the distance of their weights from the mean.
double ConsensusDistance(const Communicator& world, Array<const float> weights);

/// By the names of its members.
Metrics MetricsOf(const ExchangeSummary& summary);

}  // namespace yoke
