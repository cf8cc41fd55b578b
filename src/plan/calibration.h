// Calibration: what an update of the default takes on shared cores, against its price.
#pragma once

#include <map>
#include <string>

#include "measure/cluster_file.h"
#include "plan/candidates.h"
#include "plan/trials.h"

namespace yoke {

/// Where replicas share a machine's cores, messages wait for a core, and what waits takes turns
/// with what computes: updates take longer than their price. Slows the machines by as much as that
/// of the job as it is takes longer in a trial, and returns this factor: 1 for machines that do not
/// share cores, without a price, and where the trial fails. `example_seconds`: what an example
/// takes in training, if that is known; otherwise the trial trains for it.
double Calibrate(const Job& job, const TrialRequest& trial, double example_seconds,
                 std::map<std::string, ClusterFile>& machines);

}  // namespace yoke
