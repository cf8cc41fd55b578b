// Signals: Ctrl-C, SIGTERM, SIGHUP (a closed terminal) and SIGUSR1 (which launchers forward)
// request an orderly stop; a second signal ends the process.
#pragma once

#include <atomic>

#include "cli/output.h"

namespace yoke {

/// From now on these signals store their number in the returned variable; the next one ends the
/// process with status 128 + its number. A SIGHUP that is ignored (`nohup`) stays so.
const std::atomic<int>& CatchStopSignals();

/// For a process with a guard (StandGuard), after CatchStopSignals: the guard's death ends the
/// process, or, after a stop signal, only sets the returned variable.
const std::atomic<bool>& CatchGuardLost();

/// mpirun kills its processes soon after it tells them to stop (Open MPI 5 after a quarter of a
/// second), and a killed process cannot report it. So the process that mpirun starts only guards a
/// child, which trains.
///
/// Returns false immediately if no mpirun started this process. Otherwise it returns true in a
/// child, in a process group that the launcher's signals do not reach. The started process passes
/// signals on, reports which signal killed the child, and ends as the child does. If the guard
/// dies, the child is told under Open MPI (CatchGuardLost) and gets SIGKILL under others. `out`:
/// where rank 0's guard reports a slow stop; may be null. Call it while the process has one thread.
bool StandGuard(Output* out);

}  // namespace yoke
