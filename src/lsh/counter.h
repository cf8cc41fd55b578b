// Counter: counts how often each id occurs in the buckets of a group of queries, for the samplers
// top_k and threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "lsh/sampler.h"

namespace yoke {

class Counter {
 public:
  /// Appends at most request.wanted ids that occur at least `least` times and are not yet in `ids`,
  /// the most frequent first; among equally frequent ids, the smaller ones.
  void Take(const SampleRequest& request, int least, std::vector<int32_t>& ids);

 private:
  /// A bucket that is hit by `times` examples of the group.
  struct Visit {
    int32_t table = 0;
    uint32_t key = 0;
    uint32_t times = 0;
  };
  struct Found {
    int32_t id = 0;
    uint32_t count = 0;
  };

  void ListVisits(const SampleRequest& request);
  void Count(const SampleRequest& request);
  /// Moves the counts of all ids except those in `ids` from counts_ to found_ and how_many_, and
  /// resets counts_ to zero.
  void Collect(const std::vector<int32_t>& ids, uint32_t least);
  void AppendMostFrequent(int64_t wanted, std::vector<int32_t>& ids);

  std::vector<Visit> visits_;
  std::vector<uint32_t> keys_;    ///< One table's keys of the group, sorted.
  std::vector<uint16_t> counts_;  ///< [rows], all zero between calls; counts saturate.
  std::vector<int32_t> touched_;  ///< Ids with nonzero counts.
  int64_t touched_count_ = 0;
  std::vector<Found> found_;
  std::vector<int64_t> how_many_;  ///< Number of ids by count.
  std::vector<int32_t> ties_;
};

}  // namespace yoke
