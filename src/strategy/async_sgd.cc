// Asynchronous SGD: workers push gradients to a server that applies them first come, first served:
// w(t + 1) = w(t) - rate / P * g(w(t - s)), s the staleness. Dean et al., "Large Scale Distributed
// Deep Networks" (2012: Downpour SGD); the bound on how far workers part: Ho et al., "More
// Effective Distributed ML via a Stale Synchronous Parallel Parameter Server" (2013). Cost of a
// batch: a message with the gradient and one with the values.
//
// async_msgd is async_sgd whose rule has a velocity at the server, one for all workers. With
// mu' = mu^(1/P):
//   m(t + 1) = mu' m(t) + (1 - mu') / (1 - mu) g(v(t - s)),  w(t + 1) = w(t) - c rate m(t + 1)
//   v(t) = w(t) - c rate m(t) (mu' + ... + mu'^(2 (P - 1)))
// Without predict_weights, mu' = mu and v = w. docs/strategies/async_sgd.md derives it.
//
// hogwild_sgd is async_sgd whose server has a thread for each worker, and no lock: updates meet in
// the shared values, and some are lost in part. Niu, Recht, Re, Wright, "Hogwild!" (2011), as a
// parameter server in You, Buluç, Demmel (2017). optim/racing.h says why the races are harmless:
// - Values, rule's arrays and running statistics are only read and written through its copies, each
//   number whole; what is lost is at most one of two updates of a number that happen at once.
// - An answer may hold elements of different versions: as if its worker had read some of them
//   later, within the staleness that asynchronous SGD has anyway.
// - Versions and counts are atomic or a thread's own; no index and no size comes from shared
//   elements.
#include "strategy/served.h"

namespace yoke::strategy {
namespace {

template <bool Racing>
std::unique_ptr<Strategy> MakeServed(const Options& options, const StrategyContext& context) {
  const int world = context.world.size();
  return std::make_unique<Served>(
      context, ReadServerOptions(options, context, world - ServersOf(options, world), Racing));
}

constexpr const char* kFormHelp =
    "Paper: each gradient at the full rate, from the first update on; a velocity sums steps. Yoke: "
    "rate_scale, slow_start, predict_weights; LeNet to 0.87 takes 1 / 1.3 of the time.";

template <bool Racing>
StrategyEntry Entry(const char* name, const char* summary) {
  return {.name = name,
          .summary = summary,
          .options = ServerOptions(Racing, kFormHelp),
          .servers = ServersOf,
          .team = EachAlone,
          .sums_steps = IsPaperForm,
          .estimate =
              [](const Options& options, const ExchangeSize& size) {
                return CostOfServed(options, size.world - ServersOf(options, size.world),
                                    size.bytes);
              },
          .make = MakeServed<Racing>};
}

}  // namespace

StrategyEntry async_sgd() {
  return Entry<false>(
      "async_sgd",
      "Workers push gradients to a server, which applies them in the order of arrival");
}

StrategyEntry async_msgd() {
  StrategyEntry entry = Entry<false>("async_msgd", "Like async_sgd, with momentum at the server");
  entry.forces_momentum = true;
  return entry;
}

StrategyEntry hogwild_sgd() {
  return Entry<true>("hogwild_sgd",
                     "Like async_sgd, with one server thread per worker and no lock");
}

}  // namespace yoke::strategy
