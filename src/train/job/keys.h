// The keys common to all jobs.
#pragma once

#include <vector>

#include "base/options.h"

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

}  // namespace yoke
