// The style of the report's page.
#pragma once

#include <string_view>

namespace yoke {

inline constexpr int kReportColours = 8;  ///< Classes c0 .. c7.

/// CSS: light and dark by the reader's preference, narrow screens, paper.
std::string_view ReportStyle();

}  // namespace yoke
