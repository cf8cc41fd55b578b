// The algorithms of collectives: each is a schedule, rounds, in each of which a rank sends at most
// one message and receives at most one. Communicator sends by it, a simulation joins the messages
// of very many ranks by it (comm/simulated/collective_event.h), and the costs of collectives count
// it.
#pragma once

#include <cstdint>
#include <span>

#include "base/cost.h"

namespace yoke {

/// The algorithm of an all-reduce, for P ranks, n bytes, latency a and b seconds per byte.
enum class AllReduceAlgorithm {
  kAuto,     ///< By size and P (ChooseAllReduce).
  kRing,     ///< 2 (P - 1) messages of n / P bytes each: 2 (P - 1) a + 2 n b (P - 1) / P.
  kTree,     ///< A reduce and a broadcast: 2 log2 P (a + n b).
  kHalving,  ///< Recursive halving, then doubling: 2 log2 P a + 2 n b (P - 1) / P.
  kMpi,      ///< MPI's own, if the world has one.
};

/// The algorithm that kAuto chooses.
AllReduceAlgorithm ChooseAllReduce(int64_t bytes, int size);

/// Messages and bytes sent by all `ranks` together in an all-reduce of `bytes` with kAuto, and in a
/// broadcast or a reduce.
Cost CostOfAllReduce(int64_t bytes, int ranks);
Cost CostOfTree(int64_t bytes, int ranks);

/// Piece i when n elements are divided into `pieces`, whose sizes differ by at most one: its first
/// element, and the piece.
inline int64_t PieceBegin(int64_t n, int64_t i, int64_t pieces) { return n * i / pieces; }
std::span<float> Piece(std::span<float> values, int64_t i, int64_t pieces);

/// Of values, which are floats where they are added or divided. Costs no memory: a rank's moves are
/// made when asked for.
class CollectiveSchedule {
 public:
  static constexpr int kNobody = -1;

  /// One of `of` parts of the values.
  struct Part {
    int index = 0, of = 1;
  };
  /// What a rank does in a round. It sends first. Where nobody is named it does not.
  struct Move {
    int to = kNobody;
    Part sent = {};
    int from = kNobody;
    Part received = {};
    bool adds = false;  ///< Received values are added to this rank's; otherwise they replace them.
  };
  struct Range {
    int64_t begin = 0, count = 0;
  };

  /// Along a binomial tree: root gets the sums, or all get root's values.
  static CollectiveSchedule Reduce(int ranks, int root = 0);
  static CollectiveSchedule Broadcast(int ranks, int root = 0);
  /// All get the sums: kRing, kTree (a reduce and a broadcast) or kHalving.
  static CollectiveSchedule AllReduce(AllReduceAlgorithm algorithm, int ranks);
  /// All get all parts, of which each rank gives that of its number: around a ring.
  static CollectiveSchedule Gather(int ranks);
  /// Each hears from all, directly or not: dissemination. Messages are empty.
  static CollectiveSchedule Barrier(int ranks);

  int ranks() const { return ranks_; }
  int rounds() const { return rounds_; }
  /// All rounds are alike: each rank sends one part to the next one.
  bool is_ring() const { return kind_ == kRing; }
  /// The values are divided into parts, not given in parts by the ranks.
  bool divides() const { return kind_ != kRing || sums_; }

  Move At(int rank, int round) const;
  /// The elements of a part of n.
  Range RangeOf(const Part& part, int64_t n) const;

 private:
  enum Kind { kTree, kHalving, kRing, kBarrier };

  CollectiveSchedule(Kind kind, int ranks, int rounds)
      : kind_(kind), ranks_(ranks), rounds_(rounds) {}
  Move TreeMove(int rank, int round) const;
  Move HalvingMove(int rank, int round) const;
  Move RingMove(int rank, int round) const;
  Move BarrierMove(int rank, int round) const;

  Kind kind_;
  int ranks_, rounds_;
  int root_ = 0;      // of a tree
  int first_ = 0;     // round of the tree
  bool sums_ = true;  // a ring
};

}  // namespace yoke
