// Links: a message passes the sender's card, the uplinks and downlinks on its way, and the
// receiver's card. FairLinks: between two sends the rates change only when a message is complete.
#include "comm/simulated/network_model.h"

#include <algorithm>
#include <limits>

namespace yoke {
namespace {

constexpr double kNothing = 1e-3;  // bytes: rounding

}  // namespace

Path PathBetween(const SimulatedRanks& cluster, int sender, int receiver) {
  Path path = {.latency = cluster.latency,
               .bytes_per_second = std::min(cluster.NodeAt(sender).bytes_per_second,
                                            cluster.NodeAt(receiver).bytes_per_second)};
  for (const NodeGroups& groups : cluster.groups) {
    const int from = groups.group_of[sender], to = groups.group_of[receiver];
    if (from == to) continue;
    path.latency += groups.latency;
    path.bytes_per_second = std::min(
        {path.bytes_per_second, groups.bytes_per_second[from], groups.bytes_per_second[to]});
  }
  return path;
}

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
  const Path path = PathBetween(options_, sender, receiver);
  const double busy = bytes / path.bytes_per_second;
  return {path.latency + busy, busy};
}

double FairLinks::UntilNext(const std::vector<Flow>& flows) {
  for (const Flow& flow : flows) sends_[flow.route.sender] = receives_[flow.route.receiver] = 0;
  rates_.assign(flows.size(), 0);
  for (size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].waits) continue;
    rates_[i] = speed_;
    ++sends_[flows[i].route.sender];
    ++receives_[flows[i].route.receiver];
  }
  double seconds = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < flows.size(); ++i) {
    if (rates_[i] == 0) continue;
    rates_[i] /= std::max(sends_[flows[i].route.sender], receives_[flows[i].route.receiver]);
    seconds = std::min(seconds, flows[i].left / rates_[i]);
  }
  return seconds;
}

void FairLinks::Move(std::vector<Flow>& flows, double seconds) const {
  for (size_t i = 0; i < flows.size(); ++i) flows[i].left -= rates_[i] * seconds;
  for (auto done = flows.begin(); done != flows.end(); ++done) {
    if (done->left > kNothing) continue;
    const auto next = std::find_if(done + 1, flows.end(), [done](const Flow& flow) {
      return flow.route.connection == done->route.connection;
    });
    if (next != flows.end()) next->waits = false;
  }
  std::erase_if(flows, [](const Flow& flow) { return flow.left <= kNothing; });
}

void FairLinks::Send(double now, const Route& route, double bytes, double& arrival) {
  while (!flows_.empty() && clock_ < now) {
    const double seconds = std::min(UntilNext(flows_), now - clock_);
    Move(flows_, seconds);
    clock_ += seconds;
  }
  clock_ = now;
  const bool waits = std::ranges::any_of(
      flows_, [&route](const Flow& flow) { return flow.route.connection == route.connection; });
  flows_.push_back(
      {.route = route, .left = std::max(bytes, 1.0), .arrival = &arrival, .waits = waits});
  std::vector<Flow> ahead = flows_;  // as if nothing else were sent
  for (double then = now; !ahead.empty();) {
    const double seconds = UntilNext(ahead);
    then += seconds;
    for (size_t i = 0; i < ahead.size(); ++i)
      if (ahead[i].left - rates_[i] * seconds <= kNothing) *ahead[i].arrival = then + latency_;
    Move(ahead, seconds);
  }
}

}  // namespace yoke
