// Links: the cards of nodes, and the links that racks and regions share, which messages take in
// turn.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/fair_links.h"
#include "comm/simulated.h"
#include "comm/simulated/bookings.h"

namespace yoke {

/// Links are booked in the order of sending, so that no arrival moves. A message of one packet
/// slips in between the packets of others. A link that is faster than the slowest one on the way is
/// booked for the time that it needs, not for as long as the message trickles through it.
class Links {
 public:
  explicit Links(const SimulatedRanks& options);

  /// When a message is on the sender's card, and its last byte arrives.
  struct Trip {
    double begin = 0, end = 0;
    double arrival = 0;
  };
  /// Between two nodes.
  Trip Send(double now, int sender, int receiver, double bytes);
  /// The same; it overtakes no earlier message of the connection.
  Trip SendInOrder(double now, const Route& route, double bytes);
  /// Seconds from first to last byte, and the slowest link's part of them, where no link is busy.
  std::pair<double, double> Uncontended(int sender, int receiver, double bytes) const;

 private:
  struct Card {
    double bytes_per_second = 0;
    double sends = 0;  // when it is free again
    Bookings receives = {};
  };
  struct SharedLink {
    Bookings up, down;
  };

  void ForgetArrivals(double now);

  const SimulatedRanks& options_;
  std::vector<Card> cards_;                           // by node
  std::vector<std::vector<SharedLink>> shared_;       // by level and group
  std::unordered_map<int64_t, double> last_arrival_;  // by connection
  size_t forget_at_ = 1024;                           // when there are so many
};

}  // namespace yoke
