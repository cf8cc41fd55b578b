// The report's section about plans: what was compared before training, and why one was chosen.
#pragma once

#include <string>
#include <vector>

#include "train/report/run.h"

namespace yoke {

/// A table for each run that has a plan.toml: predicted and measured seconds an update, with bars,
/// the loss of the trials, and why a candidate was dropped; "" if no run has one.
std::string PlanSection(const std::vector<ReportRun>& runs);

}  // namespace yoke
