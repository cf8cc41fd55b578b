// The list of strategies, made from strategies.def.
#include "strategy/strategy.h"

namespace yoke {

#define YOKE_STRATEGY(name)   \
  namespace strategy_##name { \
    StrategyEntry Entry();    \
  }
#include "strategy/strategies.def"
#undef YOKE_STRATEGY

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> entries = {
#define YOKE_STRATEGY(name) strategy_##name::Entry(),
#include "strategy/strategies.def"
#undef YOKE_STRATEGY
  };
  return entries;
}

}  // namespace yoke
