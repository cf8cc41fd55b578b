// With ULFM (Open MPI 5): the survivors of a lost process continue.
#include "comm/mpi_survive.h"

#include <mpi-ext.h>  // after mpi.h

#include "base/check.h"

namespace yoke {

bool TellsOfLoss(int code) {
  if (code == MPI_SUCCESS) return false;
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_PROC_FAILED_PENDING ||
         kind == MPIX_ERR_REVOKED;
}

void TellOfLoss(MPI_Comm world) { MPIX_Comm_revoke(world); }

MPI_Comm Survivors(MPI_Comm world) {
  MPI_Comm survivors = MPI_COMM_NULL;
  if (MPIX_Comm_shrink(world, &survivors) != MPI_SUCCESS)
    throw Error("MPIX_Comm_shrink failed: the processes that are left do not find each other");
  return survivors;
}

void LeaveTogether(MPI_Comm survivors) {
  int flag = 1;
  MPIX_Comm_agree(survivors, &flag);
}

}  // namespace yoke
