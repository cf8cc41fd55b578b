// Links: a message passes the sender's card, the uplinks and downlinks on its way, and the
// receiver's card.
#include "comm/simulated/links.h"

#include <algorithm>

namespace yoke {

Links::Links(const SimulatedRanks& options) : options_(options) {
  for (int node = 0; node < options.Nodes(); ++node)
    cards_.push_back({.bytes_per_second = options.NodeAt(node).bytes_per_second});
  for (const NodeGroups& groups : options.groups)
    shared_.emplace_back(groups.bytes_per_second.size());
}

Links::Trip Links::Send(double now, int sender, int receiver, double bytes) {
  const bool queues = bytes > SimulatedRanks::kPacket;
  Card &from = cards_[sender], &to = cards_[receiver];
  double seconds = bytes / from.bytes_per_second;  // from the first byte to the last
  double begin = queues ? std::max(from.sends, now) : now;
  Trip trip = {.begin = begin, .end = begin + seconds};
  if (queues) from.sends = trip.end;
  begin += options_.latency;
  const auto pass = [&](Bookings& link, double bytes_per_second) {
    const double busy = bytes / bytes_per_second;
    const double end = queues ? link.Book(now, begin, busy) : begin + busy;
    seconds = std::max(seconds, busy);
    begin = std::max(begin, end - seconds);
    return std::max(end, begin + seconds);
  };
  const size_t levels = options_.groups.size();
  for (size_t i = 0; i < levels; ++i) {
    const NodeGroups& groups = options_.groups[i];
    const int group = groups.group_of[sender];
    if (group == groups.group_of[receiver]) continue;
    pass(shared_[i][group].up, groups.bytes_per_second[group]);
    begin += groups.latency;
  }
  for (size_t i = levels; i-- > 0;) {
    const NodeGroups& groups = options_.groups[i];
    const int group = groups.group_of[receiver];
    if (group != groups.group_of[sender])
      pass(shared_[i][group].down, groups.bytes_per_second[group]);
  }
  trip.arrival = pass(to.receives, to.bytes_per_second);
  return trip;
}

Links::Trip Links::SendInOrder(double now, const Route& route, double bytes) {
  Trip trip = Send(now, route.sender, route.receiver, bytes);
  if (last_arrival_.size() >= forget_at_) ForgetArrivals(now);
  double& last = last_arrival_[route.connection];
  trip.arrival = last = std::max(last, trip.arrival);
  return trip;
}

/// Of messages that have arrived, which none can overtake any more.
void Links::ForgetArrivals(double now) {
  std::erase_if(last_arrival_, [now](const auto& last) { return last.second <= now; });
  forget_at_ = std::max(forget_at_, 2 * last_arrival_.size());
}

std::pair<double, double> Links::Uncontended(int sender, int receiver, double bytes) const {
  double latency = options_.latency;
  double slowest = std::min(cards_[sender].bytes_per_second, cards_[receiver].bytes_per_second);
  for (const NodeGroups& groups : options_.groups) {
    const int from = groups.group_of[sender], to = groups.group_of[receiver];
    if (from == to) continue;
    latency += groups.latency;
    slowest = std::min({slowest, groups.bytes_per_second[from], groups.bytes_per_second[to]});
  }
  return {latency + bytes / slowest, bytes / slowest};
}

}  // namespace yoke
