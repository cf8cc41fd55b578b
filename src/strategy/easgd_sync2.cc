// Synchronous elastic averaging, the second: centre and replicas stay in the memory of the device
// that computes with them.
#include "strategy/elastic.h"

namespace yoke::strategy {

StrategyEntry easgd_sync2() {
  StrategyEntry entry = SynchronousElasticEntry();
  entry.name = "easgd_sync2";
  entry.summary = "easgd_sync1 with the centre on the weights' device";
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Elastic>(options, context, ElasticMemory::kOfValues);
  };
  return entry;
}

}  // namespace yoke::strategy
