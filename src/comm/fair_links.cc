// FairLinks: between two sends the rates change only when a message is complete.
#include "comm/fair_links.h"

#include <algorithm>
#include <limits>

namespace yoke {
namespace {

constexpr double kNothing = 1e-3;  // bytes: rounding

}  // namespace

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
