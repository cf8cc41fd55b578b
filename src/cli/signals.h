// Signals: Ctrl-C and SIGTERM ask for an orderly end; a second one ends at once.
#pragma once

#include <atomic>

namespace yoke {

/// From now on SIGINT and SIGTERM store their number in the returned variable; the next one ends
/// the process with status 128 + its number.
const std::atomic<int>& CatchStopSignals();

}  // namespace yoke
