// Network: how fast messages are between the ranks of a world, pair by pair and in collectives.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace yoke {

struct PairSpeed {
  int first = 0, second = 0;
  bool one_machine = true;
  double latency = 0;           ///< Seconds of an empty message, one way.
  double bytes_per_second = 0;  ///< Of long messages, one way.
};

/// P ranks, n bytes of result. Algorithm bandwidth is n / seconds; bus bandwidth is what a link
/// must carry for it: 2 (P - 1) / P of that for all-reduce, (P - 1) / P for all-gather, else the
/// same.
struct CollectiveSpeed {
  std::string name;
  int64_t bytes = 0;
  double seconds = 0;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  ///< Bytes a second; 0 where none are moved.
};

struct NetworkReport {
  int ranks = 1;
  std::vector<std::string> machines;  ///< Host name of each rank.
  std::vector<PairSpeed> pairs;
  std::vector<CollectiveSpeed> collectives;
  double median_latency = 0, median_bytes_per_second = 0;  ///< Of the pairs.
};

struct NetworkProbe {
  int64_t long_message = 1 << 20;                     ///< Bytes, between pairs.
  std::vector<int64_t> lengths = {4 << 10, 4 << 20};  ///< Bytes, of collectives.
  double seconds = 0.02;                              ///< About, of each measurement.
};

/// All ranks call it, and all have the same report. Pairs are measured one after the other, each
/// while the rest waits; a number is the median of several repetitions, of a collective that of the
/// rank that takes longest.
NetworkReport MeasureNetwork(const Communicator& world, const NetworkProbe& probe = {});

/// What the numbers mean, in a sentence: a pair much slower than its like, a network that is slow
/// as a whole, or none of these.
std::string Verdict(const NetworkReport& report);

}  // namespace yoke
