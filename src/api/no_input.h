// What output may not replace.
#pragma once

#include <string>
#include <vector>

namespace yoke {

/// Throws UserError if `path` is one of the files that are read, under whatever name, or part of a
/// run.
void RequireNoInput(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace yoke
