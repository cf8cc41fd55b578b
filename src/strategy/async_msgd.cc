// Asynchronous SGD with momentum: as async_sgd, and the server's rule has a velocity, one for all
// workers: m(t + 1) = mu m(t) + g(w(t - s)), w(t + 1) = w(t) - rate / P * m(t + 1).
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
