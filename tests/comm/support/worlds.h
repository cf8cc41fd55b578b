// The kinds of worlds that one body of tests runs over.
#pragma once

#include <functional>
#include <ostream>
#include <vector>

#include "comm/communicator.h"

namespace yoke {

using WorldBody = std::function<void(const Communicator&)>;

struct WorldKind {
  const char* name;
  /// False where it is left out, because a launcher started fewer processes.
  bool (*run)(int ranks, double timeout, const WorldBody& body);
};
inline void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }

/// Where a launcher started this program (ctest's entries comm.mpi.* do): its world alone, in which
/// each process runs the same tests in the same order. Else those that need no launcher.
std::vector<WorldKind> WorldKinds();

/// A wire among threads: what MPI is to processes.
void RunOverThreadedWire(int ranks, double timeout, const WorldBody& body);

}  // namespace yoke
