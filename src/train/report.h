// Report: one or several runs as one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

namespace yoke {

/// The page for run directories: curves over epochs and over seconds as inline SVG, final results,
/// and in what the jobs differ. Throws UserError naming a folder that holds no run.
std::string ReportPage(const std::vector<std::string>& runs);

}  // namespace yoke
