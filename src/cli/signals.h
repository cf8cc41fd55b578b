// Signals: Ctrl-C, SIGTERM, SIGHUP (a closed terminal) and SIGUSR1 (which launchers forward)
// request an orderly stop; a second signal ends the process.
#pragma once

#include <atomic>

namespace yoke {

/// From now on these signals store their number in the returned variable; the next one ends the
/// process with status 128 + its number. A SIGHUP that is ignored (`nohup`) stays so.
const std::atomic<int>& CatchStopSignals();

/// For a process with a guard (cli/guard.h), after CatchStopSignals: the guard's death ends the
/// process, or, after a stop signal, only sets the returned variable.
const std::atomic<bool>& CatchGuardLost();

}  // namespace yoke
