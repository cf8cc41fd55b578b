// The list of strategies: strategies.def once as declarations, once as the table, and those of
// programs behind it.
#include <utility>

#include "base/registry.h"
#include "strategy/add_strategy.h"

namespace yoke {

namespace strategy {
#define YOKE_STRATEGY(name) StrategyEntry name();
#include "strategy/strategies.def"
#undef YOKE_STRATEGY
}  // namespace strategy

namespace {

OwnEntries<StrategyEntry>& AllStrategies() {
  static OwnEntries<StrategyEntry> entries("strategy", {
#define YOKE_STRATEGY(name) strategy::name(),
#include "strategy/strategies.def"
#undef YOKE_STRATEGY
                                                       });
  return entries;
}

}  // namespace

const std::vector<StrategyEntry>& strategies() { return AllStrategies().all(); }

void AddStrategy(StrategyEntry entry) { AllStrategies().Add(std::move(entry)); }

}  // namespace yoke
