// Report's table of what replicas exchanged.
#pragma once

#include <string>
#include <vector>

#include "train/report_run.h"

namespace yoke {

/// A section with a row for each run of several replicas; "" where there is none.
std::string ExchangeTable(const std::vector<ReportRun>& runs);

}  // namespace yoke
