// Values of a job on their way in: overrides, paths, durations.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "train/job.h"

namespace yoke {

/// Sets `section.key` (or `section.table.key`), or removes it. Throws UserError that names flag and
/// key.
void ApplyOverride(Value& root, const Override& given);

/// Makes the paths among a section's values absolute, their environment variables replaced:
/// relative to `folder`, or to the current directory for those that came from an override. With a
/// `folder` of "" only the latter change.
void ResolvePaths(Value& section, const std::vector<OptionSpec>& keys, const std::string& folder);

/// "job.toml:3: train.epochs": how a message about a key's value begins.
std::string Where(const Value& value, const std::string& key);

/// Throws UserError that names the first text of a job that job.toml and
/// checkpoint.json cannot hold: one that is not UTF-8 or has a zero byte. `key` is what `value` is
/// called.
void RequireText(const Value& value, const std::string& key);

}  // namespace yoke
