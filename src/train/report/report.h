// Report: one or several runs as one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

namespace yoke {

/// The page for run directories: curves over epochs and over seconds as inline SVG, final results,
/// and the differences between the jobs. Throws UserError with a folder that is not a run.
std::string ReportPage(const std::vector<std::string>& runs);

}  // namespace yoke
