// The report's section about the devices of a node.
#pragma once

#include <string>
#include <vector>

#include "train/report/run.h"

namespace yoke {

/// A table with a row for each device of each run that had several, and charts of examples per
/// update and of fractions of the updates, a line each; "" if no run had several.
std::string DevicesSection(const std::vector<ReportRun>& runs);

}  // namespace yoke
