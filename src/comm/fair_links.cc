// FairLinks: between two sends the rates change only when a message is complete.
#include "comm/fair_links.h"

#include <algorithm>
#include <limits>

namespace yoke {
namespace {

constexpr double kNothing = 1e-3;  // bytes: rounding

}  // namespace

bool FairLinks::IsFirst(const std::vector<Flow>& flows, size_t which) {
  for (size_t i = 0; i < which; ++i)
    if (flows[i].route.connection == flows[which].route.connection) return false;
  return true;
}

double FairLinks::UntilNext(const std::vector<Flow>& flows) {
  std::ranges::fill(sends_, 0);
  std::ranges::fill(receives_, 0);
  rates_.assign(flows.size(), 0);
  for (size_t i = 0; i < flows.size(); ++i) {
    if (!IsFirst(flows, i)) continue;
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

void FairLinks::Send(double now, const Route& route, double bytes, double& arrival) {
  const auto move = [this](std::vector<Flow>& flows, double seconds) {
    for (size_t i = 0; i < flows.size(); ++i) flows[i].left -= rates_[i] * seconds;
    std::erase_if(flows, [](const Flow& flow) { return flow.left <= kNothing; });
  };
  while (!flows_.empty() && clock_ < now) {
    const double seconds = std::min(UntilNext(flows_), now - clock_);
    move(flows_, seconds);
    clock_ += seconds;
  }
  clock_ = now;
  flows_.push_back({.route = route, .left = std::max(bytes, 1.0), .arrival = &arrival});
  std::vector<Flow> ahead = flows_;  // as if nothing else were sent
  for (double then = now; !ahead.empty();) {
    const double seconds = UntilNext(ahead);
    then += seconds;
    for (size_t i = 0; i < ahead.size(); ++i)
      if (ahead[i].left - rates_[i] * seconds <= kNothing) *ahead[i].arrival = then + latency_;
    move(ahead, seconds);
  }
}

}  // namespace yoke
