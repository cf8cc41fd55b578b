// The template of the report's page: the build makes it out of page/ (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace yoke {

std::string_view ReportTemplate();

}  // namespace yoke
