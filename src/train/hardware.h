// Hardware: names what a run trains on.
#pragma once

#include <string>

#include "tensor/devices.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

/// "8 simulated nodes: A rack" or "4 simulated nodes (8 ranks)".
std::string HardwareOf(const SimulatedCluster& cluster, int ranks);
/// Of a run: the same, or "cpu + emulated:0 (2 ranks that share them, 4 threads each; idle:
/// emulated:1)", of the devices of rank 0's machine and its threads.
std::string HardwareOf(const Job& job, const RunRequest& request, const DeviceShares& devices,
                       int ranks, int threads);

}  // namespace yoke
