// ReportRun: the contents of a run directory for the report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "train/metrics.h"
#include "train/record/timeline.h"

namespace yoke {

/// One device of a node: what the record has of it ("examples", "updates", "busy", ...), by name.
struct ReportDevice {
  std::string name;
  std::map<std::string, double> values;

  double Get(const std::string& metric) const;  ///< NAN if the record does not have it.
};

/// Null if there is no such device.
const ReportDevice* FindDevice(const std::vector<ReportDevice>& devices, const std::string& name);

/// One epoch: "train loss", "test accuracy", "learning_rate", "examples_per_second", ... by name.
struct ReportEpoch {
  double epoch = 0;
  double seconds = 0;
  std::map<std::string, double> values;
  std::string executor;
  /// The devices as then recorded; empty for a single one. Another executor counts anew.
  std::vector<ReportDevice> node;
};

struct ReportRun {
  std::string name;  ///< The folder, without the common prefix of all runs.
  Value job;
  std::vector<ReportEpoch> epochs;
  Metrics test;  ///< Test metrics of the last weights.
  /// The last recorded exchange metrics (train/exchange.h); empty for a single replica.
  std::map<std::string, double> exchange;
  /// Every device of a node with several, as last recorded (node/device_work.h).
  std::vector<ReportDevice> node;
  std::string executor;
  std::string reason;    ///< Why it ended; "not ended" while it is running (or was killed).
  std::string collapse;  ///< What shows that the last weights have collapsed, or "".
  double epochs_done = 0;
  double seconds = 0;
  bool simulated = false;  ///< Its seconds are virtual.
  double cost = 0;         ///< Of a simulated cluster; 0: unknown.
  /// {"parameters", "431,080"}, {"cpu", ...}
  std::vector<std::pair<std::string, std::string>> facts;
  std::optional<TimelinePicture> timeline;  ///< Of a simulated run.
  std::optional<Value> plan;                ///< plan.toml, if its configuration was chosen.
};

/// Reads job.toml, metrics.jsonl, timeline.json and plan.toml. Throws UserError if `folder` is not
/// a run.
ReportRun ReadRun(const std::string& folder);

/// Median of examples_per_second over the epochs; 0 if there are none.
double TypicalRate(const ReportRun& run);

}  // namespace yoke
