// The style of the report's page.
#pragma once

#include <string_view>

namespace yoke {

inline constexpr int kReportColours = 8;  ///< Classes c0 .. c7.

/// CSS for light and dark mode, narrow screens and print.
std::string_view ReportStyle();

}  // namespace yoke
