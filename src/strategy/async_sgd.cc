// Asynchronous SGD: workers push gradients to a server that applies them first come, first served:
// w(t + 1) = w(t) - rate / P * g(w(t - s)), s the staleness. Dean et al., "Large Scale Distributed
// Deep Networks" (2012: Downpour SGD); the bound on how far workers part: Ho et al., "More
// Effective Distributed ML via a Stale Synchronous Parallel Parameter Server" (2013). Cost of a
// batch: a message with the gradient and one with the values.
#include "strategy/served.h"

namespace yoke::strategy {

StrategyEntry async_sgd() {
  StrategyEntry entry = ServedEntry(false);
  entry.name = "async_sgd";
  entry.summary = "Workers push gradients to a server, which applies them in the order of arrival";
  return entry;
}

}  // namespace yoke::strategy
