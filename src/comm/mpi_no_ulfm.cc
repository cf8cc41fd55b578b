// Without ULFM: a lost process ends the job.
#include "base/check.h"
#include "comm/mpi_survive.h"

namespace yoke {

bool TellsOfLoss(int /*code*/) { return false; }
void TellOfLoss(MPI_Comm /*world*/) {}
MPI_Comm Survivors(MPI_Comm /*world*/) {
  throw Error("this MPI cannot go on without a lost process");
}
void LeaveTogether(MPI_Comm /*survivors*/) {}

}  // namespace yoke
