// The values of a job: overrides, paths, durations.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "train/job/job.h"

namespace yoke {

/// Sets or removes `section.key` (or `section.table.key`). Throws UserError with flag and key.
void ApplyOverride(Value& root, const Override& given);

/// Expands environment variables in a section's paths and makes them absolute, relative to
/// `folder`, or to the current directory for overrides. If `folder` is "", only paths from
/// overrides change.
void ResolvePaths(Value& section, const std::vector<OptionSpec>& keys, const std::string& folder);

/// "job.toml:3: train.epochs": the beginning of a message about a key.
std::string Where(const Value& value, const std::string& key);

/// Throws UserError that names the first text which job.toml and checkpoint.json cannot store: one
/// that is not UTF-8 or has a zero byte. `key` is the name of `value`.
void RequireText(const Value& value, const std::string& key);

}  // namespace yoke
