// Version: the version and commit of the program, which every run and benchmark records.
#pragma once

#include <string_view>

namespace yoke {

// The release, such as "0.1.0".
std::string_view Version();

// The git commit of the build, followed by "-dirty" if files were changed; "unknown" outside git.
std::string_view Commit();

}  // namespace yoke
