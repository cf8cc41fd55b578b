// What an MPI can do once a process of a job is lost (User Level Failure Mitigation): the one of
// comm/mpi_ulfm.cc, or nothing (comm/mpi_no_ulfm.cc). CMake chooses.
#pragma once

#include <mpi.h>

namespace yoke {

/// Whether a call failed because a process is lost, or because another process has told so.
bool TellsOfLoss(int code);
/// Lets the calls of all others on this communicator fail too.
void TellOfLoss(MPI_Comm world);
/// Those that are left, in their old order; all of them call it.
MPI_Comm Survivors(MPI_Comm world);
/// All that are left agree to leave; MPI_Finalize may wait for the lost for ever.
void LeaveTogether(MPI_Comm survivors);

}  // namespace yoke
