// The report's table of exchange metrics.
#pragma once

#include <string>
#include <vector>

#include "train/report/run.h"

namespace yoke {

/// A section with a row for each run with several replicas; "" if there is none.
std::string ExchangeTable(const std::vector<ReportRun>& runs);

}  // namespace yoke
