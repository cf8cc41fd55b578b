// Asynchronous SGD with momentum: as async_sgd, and the server's rule has a velocity, one for all
// workers. With mu' = mu^(1/P):
//   m(t + 1) = mu' m(t) + (1 - mu') / (1 - mu) g(v(t - s)),  w(t + 1) = w(t) - c rate m(t + 1)
//   v(t) = w(t) - c rate m(t) (mu' + ... + mu'^(2 (P - 1)))
// Without predict_weights, mu' = mu and v = w. docs/strategies/async_sgd.md derives it.
#include "strategy/served.h"

namespace yoke::strategy {

StrategyEntry async_msgd() {
  StrategyEntry entry = ServedEntry(false);
  entry.name = "async_msgd";
  entry.summary = "Like async_sgd, with momentum at the server";
  entry.forces_momentum = true;
  return entry;
}

}  // namespace yoke::strategy
