// Collective events: who sends to whom, as in communicator.cc.
#include "comm/collective_event.h"

#include <bit>
#include <string>
#include <vector>

#include "base/check.h"

namespace yoke {
namespace {

using Transfers = std::vector<MessageRounds::Transfer>;

/// A reduce to rank 0 and a broadcast back, over the same binomial tree.
void TreeRounds(MessageRounds& rounds, int ranks, double bytes) {
  Transfers transfers;
  const auto level = [&](int bit, bool up) {
    transfers.clear();
    for (int child = bit; child < ranks; child += 2 * bit) {
      const int parent = child - bit;
      transfers.push_back(up ? MessageRounds::Transfer{child, parent, bytes}
                             : MessageRounds::Transfer{parent, child, bytes});
    }
    rounds.Round(transfers);
  };
  int bit = 1;
  for (; bit < ranks; bit *= 2) level(bit, true);
  for (bit /= 2; bit > 0; bit /= 2) level(bit, false);
}

/// Ranks beyond the largest power of two pass their values on, and get the sums at the end.
void HalvingRounds(MessageRounds& rounds, int ranks, double bytes) {
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  Transfers transfers;
  const auto beyond = [&](bool in) {
    transfers.clear();
    for (int rank = core; rank < ranks; ++rank)
      transfers.push_back(in ? MessageRounds::Transfer{rank, rank - core, bytes}
                             : MessageRounds::Transfer{rank - core, rank, bytes});
    if (!transfers.empty()) rounds.Round(transfers);
  };
  const auto swap = [&](int bit, double piece) {
    transfers.clear();
    for (int rank = 0; rank < core; ++rank) transfers.push_back({rank, rank ^ bit, piece});
    rounds.Round(transfers);
  };
  beyond(true);
  double piece = bytes;
  for (int bit = core / 2; bit > 0; bit /= 2) swap(bit, piece /= 2);
  for (int bit = 1; bit < core; bit *= 2, piece *= 2) swap(bit, piece);
  beyond(false);
}

}  // namespace

CollectiveTraffic Transport::JoinCollective(const CollectiveCall& call) {
  throw Error(std::string("this world has no event for ") + call.operation);
}

void BarrierRounds(MessageRounds& rounds, int ranks) {
  Transfers transfers;
  for (int distance = 1; distance < ranks; distance *= 2) {
    transfers.clear();
    for (int rank = 0; rank < ranks; ++rank)
      transfers.push_back({rank, static_cast<int>((int64_t{rank} + distance) % ranks), 0});
    rounds.Round(transfers);
  }
}

void AllReduceRounds(MessageRounds& rounds, AllReduceAlgorithm algorithm, int ranks, double bytes) {
  if (algorithm == AllReduceAlgorithm::kHalving) return HalvingRounds(rounds, ranks, bytes);
  if (algorithm == AllReduceAlgorithm::kTree) return TreeRounds(rounds, ranks, bytes);
  rounds.Ring(2 * (int64_t{ranks} - 1), bytes / ranks);
}

}  // namespace yoke
