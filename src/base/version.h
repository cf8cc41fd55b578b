// Says which yoke this is: every run and benchmark records it.
#pragma once

#include <string_view>

namespace yoke {

// The release, such as "0.1.0".
std::string_view Version();

// The git commit that was built, with "-dirty" behind it when files were changed; "unknown" outside
// git.
std::string_view Commit();

}  // namespace yoke
