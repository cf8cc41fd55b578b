// Machines: measures the machines of a world for a plan, as clusters to simulate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/cluster_file.h"
#include "plan/world_profile.h"

namespace yoke {

/// By precision, with a speed curve of each device of the job. All ranks of the world call it, and
/// get the same. Each precision is measured apart, with the prices of `executor` as it runs.
std::map<std::string, ClusterFile> MeasureMachines(const Job& job, const Reader& data,
                                                   const std::vector<std::string>& precisions,
                                                   const Communicator& world,
                                                   const Measuring& measuring,
                                                   const std::string& executor = "single");

}  // namespace yoke
