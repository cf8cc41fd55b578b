// Values of a job on their way in: overrides, paths, durations.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"

namespace yoke {

/// Sets `section.key` (or `section.table.key`) to a value in TOML; a bare word counts as a text,
/// and an empty value removes the key. Throws UserError that names the key.
void ApplyOverride(Value& root, const std::string& key, const std::string& text);

/// Makes the paths among a section's values absolute, their environment variables replaced:
/// relative to `folder`, or to the current directory for those that came from an override. With a
/// `folder` of "" only the latter change.
void ResolvePaths(Value& section, const std::vector<OptionSpec>& keys, const std::string& folder);

}  // namespace yoke
