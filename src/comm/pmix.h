// PMIx: how Open MPI and its launcher speak to each other. The library is that of the MPI in use,
// so it is looked up among the loaded ones.
#pragma once

namespace yoke {

/// To be called after the start of MPI. Open MPI aborts a process whose launcher is gone; from now
/// on this process lives on. Nothing happens under other MPIs.
void OutliveLauncher();

}  // namespace yoke
