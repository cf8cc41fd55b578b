// Synchronous elastic averaging, the first: the exchange comes before the gradient, in the CPU's
// memory, and training waits for it.
#include "strategy/elastic.h"

namespace yoke::strategy {

StrategyEntry easgd_sync1() {
  StrategyEntry entry = SynchronousElasticEntry();
  entry.name = "easgd_sync1";
  entry.summary =
      "Replicas and a centre pull each other, exchanged over trees before each gradient";
  entry.options.push_back({.name = "packed",
                           .type = OptionType::kBool,
                           .fallback = true,
                           .help = "Send the model as one message, not one per parameter."});
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return ElasticCost(options, size, options.Bool("packed") ? 1 : size.slices);
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Elastic>(options, context, ElasticMemory::kHost,
                                     options.Bool("packed"));
  };
  return entry;
}

}  // namespace yoke::strategy
