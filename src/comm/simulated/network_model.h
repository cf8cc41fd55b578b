// Links and FairLinks: the two models of a network, in which messages take links in turn or share
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/simulated.h"

namespace yoke {

/// The links between two nodes: a message of n bytes arrives latency + n / bytes_per_second after
/// it is sent, where no link is busy.
struct Path {
  double latency = 0;
  double bytes_per_second = 0;  ///< Of the slowest.
};
Path PathBetween(const SimulatedRanks& cluster, int sender, int receiver);

/// Where a message goes.
struct Route {
  int64_t connection = 0;  ///< Messages of one arrive in the order sent, one after another.
  int sender = 0;          ///< Its node.
  int receiver = 0;        ///< Another node.
};

/// When a machine's part, which does one thing at a time, is busy.
class Bookings {
 public:
  /// Books the first free time of this length from `earliest` on; returns its end. Nothing will be
  /// booked before `now` any more.
  double Book(double now, double earliest, double seconds) {
    busy_.erase(busy_.begin(), FirstThatEndsAfter(now));
    auto at = FirstThatEndsAfter(earliest);
    for (; at != busy_.end() && earliest + seconds > at->begin; ++at)
      earliest = std::max(earliest, at->end);
    const double end = earliest + seconds;
    // Without a gap to the one before, it prolongs that one: a queue is one entry.
    if (at != busy_.begin() && std::prev(at)->end == earliest)
      std::prev(at)->end = end;
    else
      busy_.insert(at, {.begin = earliest, .end = end});
    return end;
  }

 private:
  struct Busy {
    double begin = 0, end = 0;
  };
  using Place = std::vector<Busy>::iterator;
  Place FirstThatEndsAfter(double time) {
    return std::ranges::partition_point(busy_, [=](const Busy& busy) { return busy.end <= time; });
  }

  std::vector<Busy> busy_;  // in order
};

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
  /// Seconds along the path, and the slowest link's part of them.
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

/// Messages under way. A card divides its bytes per second among the messages that it sends, and
/// those that it receives; a message moves at the lower of its two parts. Cost of Send: the square
/// of the number of messages under way.
class FairLinks {
 public:
  FairLinks(int nodes, double bytes_per_second, double latency)
      : sends_(nodes), receives_(nodes), speed_(bytes_per_second), latency_(latency) {}

  /// A message of so many bytes leaves at `now`, which never decreases. Sets `arrival`, and moves
  /// the arrivals of messages under way; each must stay valid until its time.
  void Send(double now, const Route& route, double bytes, double& arrival);

 private:
  struct Flow {
    Route route;
    double left = 0;  // bytes
    double* arrival = nullptr;
    bool waits = false;  // for an earlier one of its connection
  };
  /// Seconds until the first of the flows is complete; sets the rates.
  double UntilNext(const std::vector<Flow>& flows);
  /// Moves the flows for so long at these rates; removes those that are complete.
  void Move(std::vector<Flow>& flows, double seconds) const;

  std::vector<int> sends_, receives_;  // moving now, by node
  std::vector<double> rates_;          // by flow
  std::vector<Flow> flows_;            // in the order sent
  double speed_, latency_;
  double clock_ = 0;
};

}  // namespace yoke
