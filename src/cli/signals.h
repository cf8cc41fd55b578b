// Signals: Ctrl-C, SIGTERM, SIGHUP (a closed terminal) and SIGUSR1 (which launchers forward) ask
// for an orderly end; a second one ends at once.
#pragma once

#include <atomic>

namespace yoke {

/// From now on these signals store their number in the returned variable; the next one ends the
/// process with status 128 + its number. A SIGHUP that is ignored (`nohup`) stays so.
const std::atomic<int>& CatchStopSignals();

/// For a process with a guard (cli/guard.h), to be called after CatchStopSignals: the guard's end
/// ends the process. After a stop signal it only sets the returned variable.
const std::atomic<bool>& CatchGuardLost();

}  // namespace yoke
