// Support of an MPI for lost processes (User Level Failure Mitigation): comm/mpi_ulfm.cc, or
// comm/mpi_no_ulfm.cc without it. CMake chooses.
#pragma once

#include <mpi.h>

namespace yoke {

/// Whether a call failed because a process is lost, or because another process has reported one.
bool TellsOfLoss(int code);
/// Makes the calls of all other processes on this communicator fail too.
void TellOfLoss(MPI_Comm world);
/// The surviving processes, in their old order. All of them call it.
MPI_Comm Survivors(MPI_Comm world);
/// The survivors agree to leave, because MPI_Finalize may wait forever for lost processes.
void LeaveTogether(MPI_Comm survivors);

}  // namespace yoke
