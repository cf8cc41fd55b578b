// AddStrategy: strategies of a program's own, which its jobs then name as they name ours.
#pragma once

#include "strategy/strategy.h"

namespace yoke {

/// Adds a strategy to strategies(), or replaces an own one of that name; before jobs name it, and
/// while none that does runs. Throws UserError for a name of ours.
void AddStrategy(StrategyEntry entry);

}  // namespace yoke
