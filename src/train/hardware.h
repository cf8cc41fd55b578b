// Hardware: names what a run trains on.
#pragma once

#include <string>
#include <vector>

#include "train/run_request.h"

namespace yoke {

/// "8 simulated nodes: A rack" or "4 simulated nodes (8 ranks)".
std::string HardwareOf(const SimulatedCluster& cluster, int ranks);
/// "cpu + emulated:0 (2 ranks, 4 threads each)", of the devices of rank 0's machine and its
/// threads. `shared`: its ranks do not all have the same ones.
std::string HardwareOf(const std::vector<std::string>& devices, int ranks, int threads,
                       bool shared);

}  // namespace yoke
