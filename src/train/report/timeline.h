// The report's section about who computes, waits and sends on a simulated cluster.
#pragma once

#include <string>
#include <vector>

#include "train/report/run.h"

namespace yoke {

/// A picture of a few steps for each simulated run, and a table of fractions of the whole runs; ""
/// if there is none.
std::string TimelineSection(const std::vector<ReportRun>& runs);

}  // namespace yoke
