// PMIx: the protocol between Open MPI and its launcher. The library belongs to the MPI in use, so
// it is looked up among the loaded ones.
#pragma once

namespace yoke {

/// Call after MPI has started. Open MPI aborts a process whose launcher has died; from now on this
/// process continues. Does nothing under other MPIs.
void OutliveLauncher();

}  // namespace yoke
