// Delivery: when the messages between the ranks of a simulation arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "comm/mailbox.h"
#include "comm/simulated/network_model.h"
#include "comm/simulated/node_failures.h"
#include "comm/simulated/timeline.h"

namespace yoke {

/// Ranks are those of the current world. Both references must outlive it.
class Delivery {
 public:
  Delivery(const SimulatedRanks& options, const Losses& losses)
      : options_(options), losses_(losses) {
    Clear();
  }

  /// No message is under way.
  void Clear() {
    fair_links_.emplace(options_.Nodes(), options_.bytes_per_second, options_.latency);
    links_.emplace(options_);
  }

  int NodeOf(int rank) const { return options_.NodeOf(losses_.First(rank)); }

  /// Sets when a message arrives that is sent `now`.
  void Send(double now, int from, int to, Letter& letter) {
    const Route route = {.connection = int64_t{from} * options_.ranks + to,
                         .sender = NodeOf(from),
                         .receiver = NodeOf(to)};
    const auto bytes = static_cast<double>(letter.billed);
    if (route.sender == route.receiver)
      letter.arrival = now;
    else if (options_.fair_links)
      fair_links_->Send(now, route, bytes, letter.arrival);
    else
      letter.arrival = Sent(from, links_->SendInOrder(now, route, bytes));
  }

  /// When a message of a collective event arrives that is sent `now`.
  double Send(double now, int from, int to, double bytes) {
    if (NodeOf(from) == NodeOf(to)) return now;
    return Sent(from, links_->Send(now, NodeOf(from), NodeOf(to), bytes));
  }
  /// The same where no link is busy, and how long the slowest one is, in seconds.
  std::pair<double, double> Uncontended(int from, int to, double bytes) const {
    if (NodeOf(from) == NodeOf(to)) return {0, 0};
    return links_->Uncontended(NodeOf(from), NodeOf(to), bytes);
  }

  /// Seconds of a core to copy a message of another rank.
  double CopySeconds(double bytes) const {
    constexpr double kCopiesAreFree = 1e18;  // bytes per second
    const double speed = options_.copy_bytes_per_second;
    return speed < kCopiesAreFree ? bytes / speed : 0;
  }

 private:
  /// Records a message of this rank; returns when it arrives.
  double Sent(int rank, const Links::Trip& trip) const {
    if (options_.timeline) options_.timeline->Sends(losses_.First(rank), trip.begin, trip.end);
    return trip.arrival;
  }

  const SimulatedRanks& options_;
  const Losses& losses_;
  std::optional<FairLinks> fair_links_;
  std::optional<Links> links_;
};

}  // namespace yoke
