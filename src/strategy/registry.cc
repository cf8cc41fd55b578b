// The list of strategies: strategies.def once as declarations, once as the table.
#include "strategy/strategy.h"

namespace yoke {

namespace strategy {
#define YOKE_STRATEGY(name) StrategyEntry name();
#include "strategy/strategies.def"
#undef YOKE_STRATEGY
}  // namespace strategy

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> entries = {
#define YOKE_STRATEGY(name) strategy::name(),
#include "strategy/strategies.def"
#undef YOKE_STRATEGY
  };
  return entries;
}

}  // namespace yoke
