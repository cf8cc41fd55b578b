// Collective event: a collective of very many ranks as one event, priced by the rounds of the
// messages that it stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "comm/transport.h"

namespace yoke {

/// The messages of a collective, round by round. Ranks are those of the communicator.
class MessageRounds {
 public:
  /// A rank sends when it has ended its earlier rounds, and waits for what it receives. In a round
  /// it sends first; several transfers of a rank are in their order.
  struct Transfer {
    int from = 0, to = 0;
    double bytes = 0;
  };

  virtual ~MessageRounds() = default;
  virtual void Round(std::span<const Transfer> transfers) = 0;
  /// So many rounds in which each rank sends this many bytes to the next one, and waits for those
  /// of the one before. As Round where all links are equal; elsewhere the longer of the way around
  /// and the slowest link in every round.
  virtual void Ring(int64_t rounds, double bytes) = 0;
};

/// What one rank contributes to a collective that all ranks of a context call, and that none leaves
/// before all have come.
struct CollectiveCall {
  uint64_t context = 0;
  const Members& members;
  int rank = 0;          ///< Among them.
  void* data = nullptr;  ///< This rank's, for `combine`.
  double bytes = 0;      ///< Of this rank, as they are billed.
  /// Run once, when all have come: exchanges the data, given by rank. Time does not pass in it.
  std::function<void(std::span<void* const>)> combine;
  /// The messages; `bytes`: the mean over the ranks.
  std::function<void(MessageRounds&, double bytes)> rounds;
  const char* operation = "";  ///< For messages about a wait.
};

/// Of one rank in a collective event.
struct CollectiveTraffic {
  int64_t messages_sent = 0, messages_received = 0;
  double bytes_sent = 0, bytes_received = 0;
  double seconds_sending = 0;  ///< To copy what it sent, which is no wait.
};

// The messages of `ranks` ranks in Communicator's collectives.

/// Dissemination.
void BarrierRounds(MessageRounds& rounds, int ranks);
/// kTree, kHalving or kRing, for `bytes` of values.
void AllReduceRounds(MessageRounds& rounds, AllReduceAlgorithm algorithm, int ranks, double bytes);

}  // namespace yoke
