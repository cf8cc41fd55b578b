// Guard: mpirun kills its processes soon after it tells them to stop (Open MPI 5 after a quarter of
// a second), and a killed process cannot report it. So the process that mpirun starts only guards a
// child, which trains.
#pragma once

#include "cli/output.h"

namespace yoke {

/// Returns false immediately if no mpirun started this process. Otherwise it returns true in a
/// child, in a process group that the launcher's signals do not reach. The started process passes
/// signals on, reports which signal killed the child, and ends as the child does. If the guard
/// dies, the child gets GuardLost() under Open MPI and SIGKILL under others. `out`: where rank 0's
/// guard reports a slow stop; may be null. Call it while the process has one thread.
bool StandGuard(Output* out);

/// The signal that reports the guard's death.
int GuardLost();

}  // namespace yoke
