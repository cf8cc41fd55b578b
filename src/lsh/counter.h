// Counter: counts how often each id occurs in the buckets of a group of queries, for the samplers
// top_k and threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "lsh/sampler.h"

namespace yoke {

/// Begin, then Count of each part, then Append. The parts share the ids among them, so that threads
/// may count at the same time; the result does not depend on their number.
class Counter {
 public:
  /// The request's keys are read until all parts have counted. `parts` is a power of two.
  void Begin(const SampleRequest& request, int64_t parts);
  /// Counts the part's ids except those in `ids`; ids found fewer than `least` times are dropped.
  void Count(int64_t part, int least, const std::vector<int32_t>& ids);
  /// Appends at most request.wanted of the ids that are left, the most frequent first; among
  /// equally frequent ids, the smaller ones.
  void Append(std::vector<int32_t>& ids);

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
  struct Part {
    std::vector<int32_t> touched;  ///< Ids with nonzero counts, as they were met.
    int64_t touched_count = 0;
    std::vector<uint32_t> places;  ///< Where they were met among all ids, if there are more parts.
    std::vector<Found> found;
    std::vector<int64_t> how_many;  ///< Number of ids by count.
  };
  /// An id that a part has found, to be put into the order in which all were met.
  struct Met {
    uint32_t place = 0;
    Found found;
  };

  void ListVisits();
  bool Has(int64_t part, int32_t id) const { return (id >> kStripBits & (count_ - 1)) == part; }
  template <bool whole>
  void CountIn(int64_t part);
  /// Moves the counts of the part's ids except those in `ids` from counts_ to found and how_many,
  /// and resets counts_ to zero.
  template <bool whole>
  void Collect(int64_t part, const std::vector<int32_t>& ids, uint32_t least);
  /// Writes the ids of count `cut` - 1 to ties_, part after part.
  void ListTies(uint32_t cut);
  /// Writes the ids of count `cut` or more, and those of the ties that are at most `most`, to
  /// merged_, as they were met.
  void Merge(uint32_t cut, int64_t most);

  static constexpr int kStripBits = 6;  ///< Ids whose counts share a cache line share a part.

  SampleRequest request_;
  int64_t count_ = 1;  ///< Of parts.
  std::vector<Visit> visits_;
  std::vector<uint32_t> keys_;    ///< One table's keys of the group, sorted.
  std::vector<uint16_t> counts_;  ///< [rows], all zero between calls; counts saturate.
  std::vector<Part> parts_;
  std::vector<int64_t> how_many_;  ///< Of all parts.
  std::vector<Met> met_;
  std::vector<Found> merged_;
  std::vector<int32_t> ties_;
};

}  // namespace yoke
