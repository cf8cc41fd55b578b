// Guard: mpirun kills its processes soon after it told them to stop (Open MPI 5 after a quarter of
// a second), and a killed process cannot say so. The process that mpirun started therefore only
// stands guard, and a child of it trains.
#pragma once

#include "cli/output.h"

namespace yoke {

/// Returns false at once where no mpirun started this process. Else it returns true in a child, in
/// a process group of its own that the launcher's signals do not reach. The process that was
/// started passes signals on, says which signal killed the child, and ends as the child does. When
/// it is gone itself, the child gets GuardLost() under Open MPI, and SIGKILL under others. `out`:
/// where rank 0's guard says that a stop takes its time; may be null. To be called while the
/// process has one thread.
bool StandGuard(Output* out);

/// The signal that tells of the guard's end.
int GuardLost();

}  // namespace yoke
