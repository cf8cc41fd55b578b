// CollectiveSchedule: trees, halves and rings.
#include "comm/collective_schedules.h"

#include <bit>

namespace yoke {
namespace {

constexpr int64_t kShortPiece = 4096;  // bytes; from here on bandwidth outweighs latency

/// log2, rounded up.
int Levels(int ranks) { return std::bit_width(static_cast<unsigned>(ranks - 1)); }

/// The largest power of two among them.
int Core(int ranks) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))); }

/// `rank` around a ring, from -ranks to 2 ranks - 1.
int Around(int64_t rank, int ranks) {
  return static_cast<int>(rank < 0 ? rank + ranks : rank >= ranks ? rank - ranks : rank);
}

}  // namespace

std::span<float> Piece(std::span<float> values, int64_t i, int64_t pieces) {
  const auto n = static_cast<int64_t>(values.size());
  const int64_t begin = PieceBegin(n, i, pieces);
  return values.subspan(begin, PieceBegin(n, i + 1, pieces) - begin);
}

AllReduceAlgorithm ChooseAllReduce(int64_t bytes, int size) {
  if (std::has_single_bit(static_cast<unsigned>(size))) return AllReduceAlgorithm::kHalving;
  return bytes / size < kShortPiece ? AllReduceAlgorithm::kTree : AllReduceAlgorithm::kRing;
}

/// In a tree each rank but the root sends once up and gets one message down; elsewhere all ranks
/// send in each round.
Cost CostOfAllReduce(int64_t bytes, int ranks) {
  const AllReduceAlgorithm algorithm = ChooseAllReduce(bytes, ranks);
  const auto n = static_cast<double>(bytes), p = static_cast<double>(ranks);
  const int rounds = CollectiveSchedule::AllReduce(algorithm, ranks).rounds();
  return {.messages = algorithm == AllReduceAlgorithm::kTree ? 2 * (p - 1) : p * rounds,
          .message_bytes = 2 * (p - 1) * n};
}

Cost CostOfTree(int64_t bytes, int ranks) {
  return {.messages = ranks - 1.0, .message_bytes = static_cast<double>(bytes) * (ranks - 1.0)};
}

CollectiveSchedule CollectiveSchedule::Reduce(int ranks, int root) {
  CollectiveSchedule schedule(kTree, ranks, Levels(ranks));
  schedule.root_ = root;
  return schedule;
}

CollectiveSchedule CollectiveSchedule::Broadcast(int ranks, int root) {
  CollectiveSchedule schedule = Reduce(ranks, root);
  schedule.first_ = schedule.rounds_;
  return schedule;
}

CollectiveSchedule CollectiveSchedule::AllReduce(AllReduceAlgorithm algorithm, int ranks) {
  if (algorithm == AllReduceAlgorithm::kTree) return {kTree, ranks, 2 * Levels(ranks)};
  if (algorithm == AllReduceAlgorithm::kRing) return {kRing, ranks, 2 * (ranks - 1)};
  const int core = Core(ranks);
  return {kHalving, ranks, 2 * Levels(core) + (core < ranks ? 2 : 0)};
}

CollectiveSchedule CollectiveSchedule::Gather(int ranks) {
  CollectiveSchedule schedule(kRing, ranks, ranks - 1);
  schedule.sums_ = false;
  return schedule;
}

CollectiveSchedule CollectiveSchedule::Barrier(int ranks) {
  return {kBarrier, ranks, Levels(ranks)};
}

CollectiveSchedule::Move CollectiveSchedule::At(int rank, int round) const {
  switch (kind_) {
    case kTree:
      return TreeMove(rank, first_ + round);
    case kHalving:
      return HalvingMove(rank, round);
    case kRing:
      return RingMove(rank, round);
    default:
      return BarrierMove(rank, round);
  }
}

/// Parts of a tree and of halves are halves of halves, of which the upper one may be longer.
CollectiveSchedule::Range CollectiveSchedule::RangeOf(const Part& part, int64_t n) const {
  if (kind_ == kRing) {
    const int64_t begin = PieceBegin(n, part.index, part.of);
    return {begin, PieceBegin(n, part.index + 1, part.of) - begin};
  }
  Range range = {.begin = 0, .count = n};
  for (int bit = part.of / 2; bit > 0; bit /= 2) {
    const int64_t middle = range.count / 2;
    const bool upper = (part.index & bit) != 0;
    range = {upper ? range.begin + middle : range.begin, upper ? range.count - middle : middle};
  }
  return range;
}

/// Up the tree, from distance 1 to the root, then down.
CollectiveSchedule::Move CollectiveSchedule::TreeMove(int rank, int round) const {
  const int levels = Levels(ranks_);
  const bool up = round < levels;
  const int bit = 1 << (up ? round : 2 * levels - 1 - round);
  const int place = Around(rank - root_, ranks_);
  const int below = place & (2 * bit - 1);
  Move move = {.adds = up};
  if (below == bit) (up ? move.to : move.from) = Around(place - bit + root_, ranks_);
  if (below == 0 && place + bit < ranks_)
    (up ? move.from : move.to) = Around(int64_t{place} + bit + root_, ranks_);
  return move;
}

/// Halves until each rank has the sum of one part, then doubles. Ranks beyond the largest power of
/// two pass their values on before, and get the sums afterwards.
CollectiveSchedule::Move CollectiveSchedule::HalvingMove(int rank, int round) const {
  const int core = Core(ranks_), beyond = ranks_ - core, levels = Levels(core);
  if (beyond > 0 && (round == 0 || round == rounds_ - 1)) {
    Move move = {.adds = round == 0};
    if (rank >= core) (move.adds ? move.to : move.from) = rank - core;
    if (rank < beyond) (move.adds ? move.from : move.to) = rank + core;
    return move;
  }
  if (rank >= core) return {};
  if (beyond > 0) --round;
  const bool halves = round < levels;
  const int depth = halves ? round + 1 : 2 * levels - round;
  const int peer = rank ^ (core >> depth);
  const Part mine = {rank >> (levels - depth), 1 << depth};
  const Part theirs = {peer >> (levels - depth), 1 << depth};
  return {.to = peer,
          .sent = halves ? theirs : mine,
          .from = peer,
          .received = halves ? mine : theirs,
          .adds = halves};
}

/// Each part goes around the ring: to be summed, and once more to distribute the sum.
CollectiveSchedule::Move CollectiveSchedule::RingMove(int rank, int round) const {
  const int part = Around(rank - round % ranks_, ranks_);
  return {.to = Around(rank + 1, ranks_),
          .sent = {part, ranks_},
          .from = Around(rank - 1, ranks_),
          .received = {Around(part - 1, ranks_), ranks_},
          .adds = sums_ && round < ranks_ - 1};
}

/// After round r a rank has heard from 2^(r + 1) - 1 others.
CollectiveSchedule::Move CollectiveSchedule::BarrierMove(int rank, int round) const {
  const int distance = 1 << round;
  return {.to = Around(int64_t{rank} + distance, ranks_), .from = Around(rank - distance, ranks_)};
}

}  // namespace yoke
