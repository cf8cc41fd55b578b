// Delivery: when the messages between the ranks of a simulation arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "comm/fair_links.h"
#include "comm/mailbox.h"
#include "comm/simulated/collective_event.h"
#include "comm/simulated/links.h"
#include "comm/simulated/losses.h"
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

  /// For the messages of a collective event.
  RoundTimes::Network ForCollective() {
    return {.send =
                [this](double now, int from, int to, double bytes) {
                  if (NodeOf(from) == NodeOf(to)) return now;
                  return Sent(from, links_->Send(now, NodeOf(from), NodeOf(to), bytes));
                },
            .uncontended = [this](int from, int to, double bytes) -> std::pair<double, double> {
              if (NodeOf(from) == NodeOf(to)) return {0, 0};
              return links_->Uncontended(NodeOf(from), NodeOf(to), bytes);
            },
            .copy_bytes_per_second = Copies() ? options_.copy_bytes_per_second : 0,
            .unbooked = SimulatedRanks::kPacket};
  }

  /// Seconds of a core to copy a message of another rank.
  double CopySeconds(int64_t bytes) const {
    return Copies() ? static_cast<double>(bytes) / options_.copy_bytes_per_second : 0;
  }

 private:
  static constexpr double kCopiesAreFree = 1e18;  // bytes per second
  bool Copies() const { return options_.copy_bytes_per_second < kCopiesAreFree; }

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
