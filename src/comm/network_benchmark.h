// NetworkReport: measures the speed of messages between the ranks of a world, for pairs and
// collectives.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace yoke {

struct PairSpeed {
  int first = 0, second = 0;
  bool one_machine = true;
  double latency = 0;           ///< One-way time of an empty message in seconds.
  double bytes_per_second = 0;  ///< Bandwidth of long messages, one way.
};

/// For P ranks and n bytes of result. Algorithm bandwidth is n / seconds. Bus bandwidth is the load
/// on a link: algorithm bandwidth times 2 (P - 1) / P for all-reduce, (P - 1) / P for all-gather, 1
/// for others.
struct CollectiveSpeed {
  std::string name;
  int64_t bytes = 0;
  double seconds = 0;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  ///< Bytes per second; 0 if none are moved.
};

struct NetworkReport {
  int ranks = 1;
  std::vector<std::string> machines;  ///< Host name of each rank.
  std::vector<PairSpeed> pairs;
  std::vector<CollectiveSpeed> collectives;
  double median_latency = 0, median_bytes_per_second = 0;  ///< Medians over the pairs.
};

struct NetworkProbe {
  int64_t long_message = 1 << 20;                     ///< Message bytes between pairs.
  std::vector<int64_t> lengths = {4 << 10, 4 << 20};  ///< Bytes of collectives.
  double seconds = 0.02;                              ///< Approximate time of each measurement.
  /// Not 0: before each long message of a pair both ranks write to so many bytes of other memory,
  /// as a training step does: the message's own are then no longer in the caches.
  int64_t touched_between = 0;
};

/// All ranks call it and get the same report. Pairs are measured one after the other, while the
/// other ranks wait. Each figure is the median of several repetitions; for a collective, that of
/// the slowest rank.
NetworkReport MeasureNetwork(const Communicator& world, const NetworkProbe& probe = {});

/// A sentence on the result: a pair that is much slower than comparable pairs, a network that is
/// slow as a whole, or neither.
std::string Verdict(const NetworkReport& report);

}  // namespace yoke
