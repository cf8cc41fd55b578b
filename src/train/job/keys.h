// Keys: those common to all jobs, and their values: overrides, paths, and what a job on a table
// gets where it does not say.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/value.h"
#include "train/job/job.h"

namespace yoke {

const std::vector<OptionSpec>& train_keys();
/// Of train.evaluate_every where it is a table.
const std::vector<OptionSpec>& evaluate_every_keys();
const std::vector<OptionSpec>& target_keys();
const std::vector<OptionSpec>& early_stopping_keys();
const std::vector<OptionSpec>& group_keys();
const std::vector<OptionSpec>& node_keys();
const std::vector<OptionSpec>& cluster_keys();
const std::vector<OptionSpec>& checkpoint_keys();
const std::vector<OptionSpec>&
model_keys();  ///< `name` and `layer`, before the keys of the named model.

/// The names of all metrics, in the order of metrics.h.
const std::vector<std::string>& metric_names();

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

/// If the job's data are a table of format `csv` and it has no [model], adds one and the keys of
/// [train] and [data] that go with it: an mlp, adam, a validation share that ends training early.
/// Keys that the job has stay. Other jobs do not change.
void AddTableDefaults(Value& root);

}  // namespace yoke
