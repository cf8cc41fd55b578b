// EpochPlan: which examples of an epoch's permutation each rank takes at each step, and what is
// consumed so far.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace yoke {

/// A set of positions [begin, end) of an epoch's permutation, kept merged and sorted.
class Ranges {
 public:
  void Add(int64_t begin, int64_t end);
  int64_t Count() const;
  const std::vector<std::pair<int64_t, int64_t>>& list() const { return list_; }
  /// What is missing of [0, n), in order.
  Ranges Complement(int64_t n) const;
  bool operator==(const Ranges&) const = default;

 private:
  std::vector<std::pair<int64_t, int64_t>> list_;
};

/// Deals the rest of an epoch to `world` ranks in synchronous steps: step s takes the next world *
/// batch positions of what is not consumed; the last step is split as evenly as it goes (shares
/// differ by at most one; a rank may get none).
struct EpochDeal {
  uint64_t seed = 1;
  int64_t epoch = 0;
  int64_t examples = 0;
  int64_t batch = 1;
  int rank = 0;
  int world = 1;
};

/// The permutation of an epoch is drawn from (seed, kShuffle, epoch) alone: the same for every rank
/// and world.
class EpochPlan {
 public:
  EpochPlan(const EpochDeal& deal, const Ranges& consumed);
  /// Steps left.
  int64_t Steps() const;
  /// Example numbers of this rank's share of step s (0 <= s < Steps()); valid while the plan is.
  std::span<const int64_t> Share(int64_t step) const;
  /// Examples of all shares of step s.
  int64_t Examples(int64_t step) const;
  /// Adds the positions that all ranks consume in step s to `consumed`. Allocates nothing when they
  /// lie behind what is there.
  void Consume(int64_t step, Ranges& consumed) const;

 private:
  std::pair<int64_t, int64_t> Window(int64_t step) const;

  EpochDeal deal_;
  Ranges rest_;                 ///< Positions not consumed.
  std::vector<int64_t> order_;  ///< Examples at those positions.
};

}  // namespace yoke
