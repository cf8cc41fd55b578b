// ReportRun: the contents of a run directory for the report.
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
  std::string name;  ///< The folder, without the common prefix of all runs.
  Value job;
  std::vector<ReportEpoch> epochs;
  Metrics test;  ///< Test metrics of the last weights.
  /// The last recorded exchange metrics (train/exchange.h); empty for a single replica.
  std::map<std::string, double> exchange;
  std::string reason;  ///< Why it ended; "not ended" while it is running (or was killed).
  double seconds = 0;
  /// {"parameters", "431,080"}, {"cpu", ...}
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Reads job.toml and metrics.jsonl. Throws UserError if `folder` is not a run.
ReportRun ReadRun(const std::string& folder);

/// Median of examples_per_second over the epochs; 0 if there are none.
double TypicalRate(const ReportRun& run);

}  // namespace yoke
