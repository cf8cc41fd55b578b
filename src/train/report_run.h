// ReportRun: what a run directory tells about its run.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "train/metrics.h"

namespace yoke {

/// One epoch: "train loss", "test accuracy", "learning_rate", "examples_per_second", ... by name.
struct ReportEpoch {
  double epoch = 0;
  double seconds = 0;
  std::map<std::string, double> values;
};

struct ReportRun {
  std::string name;  ///< The folder, without what all of them have in front.
  Value job;
  std::vector<ReportEpoch> epochs;
  Metrics test;  ///< Of the last weights.
  /// What replicas had exchanged when last told (train/exchange.h); empty for one alone.
  std::map<std::string, double> exchange;
  std::string reason;  ///< Why it ended; "not ended" while it goes on (or was killed).
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>>
      facts;  ///< {"parameters", "431,080"}, {"cpu", ...}
};

/// Reads job.toml and metrics.jsonl. Throws UserError when `folder` holds no run.
ReportRun ReadRun(const std::string& folder);

/// Median of examples_per_second over the epochs; 0 without any.
double TypicalRate(const ReportRun& run);

}  // namespace yoke
