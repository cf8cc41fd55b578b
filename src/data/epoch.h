// EpochPlan: the examples of an epoch's permutation that each rank takes at each step, and those
// consumed so far.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace yoke {

/// A set of ranges [begin, end) of positions in an epoch's permutation, merged and sorted.
class Ranges {
 public:
  void Add(int64_t begin, int64_t end);
  int64_t Count() const;
  const std::vector<std::pair<int64_t, int64_t>>& list() const { return list_; }
  /// The rest of [0, n), in order.
  Ranges Complement(int64_t n) const;
  bool operator==(const Ranges&) const = default;

 private:
  std::vector<std::pair<int64_t, int64_t>> list_;
};

/// Deals the rest of an epoch to `world` ranks in synchronous steps. Step s takes the next world *
/// batch unconsumed positions. The last step is divided as evenly as possible: parts differ by at
/// most one, and a rank may get none.
struct EpochDeal {
  uint64_t seed = 1;
  int64_t epoch = 0;
  int64_t examples = 0;
  int64_t batch = 1;
  int64_t left_out = 0;  ///< Positions at the permutation's end that no rank takes.
  int rank = 0;
  int world = 1;
};

/// The permutation of an epoch depends only on (seed, kShuffle, epoch), so it is the same for every
/// rank and world.
class EpochPlan {
 public:
  EpochPlan(const EpochDeal& deal, const Ranges& consumed);
  /// Number of remaining steps.
  int64_t Steps() const;
  /// Example numbers of this rank's part of step s (0 <= s < Steps()); valid as long as the plan.
  std::span<const int64_t> Part(int64_t step) const;
  /// Number of examples of all ranks in step s.
  int64_t Examples(int64_t step) const;
  /// Adds the positions that all ranks consume in step s to `consumed`. Does not allocate if they
  /// follow the last range.
  void Consume(int64_t step, Ranges& consumed) const;

 private:
  std::pair<int64_t, int64_t> Window(int64_t step) const;

  EpochDeal deal_;
  Ranges rest_;                 ///< Positions not consumed.
  std::vector<int64_t> order_;  ///< Examples at those positions.
};

}  // namespace yoke
