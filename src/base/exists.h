// Exists: whether a path leads anywhere, with a sentence where the answer is refused.
#pragma once

#include <string>

namespace yoke {

/// Whether something lies at `path`; links are followed. Throws UserError naming the path and the
/// reason when nobody can tell: a folder on the way may not be searched.
bool Exists(const std::string& path);

}  // namespace yoke
