// Schedule: the learning rate as a function of progress.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"

namespace yoke {

/// Progress of training, in fractional epochs, so that a schedule does not depend on the batch
/// size.
struct Progress {
  double epoch = 0;   ///< Epochs completed, fractional.
  double epochs = 1;  ///< Total epochs.
  /// How often the watched metric has not improved for the patience of `plateau`.
  int64_t plateaus = 0;
};

/// The factor on the base learning rate.
using RateFactor = std::function<double(const Progress&)>;

class Schedule {
 public:
  explicit Schedule(RateFactor factor) : factor_(std::move(factor)) {}
  double Factor(const Progress& progress) const { return factor_(progress); }

 private:
  RateFactor factor_;
};

struct ScheduleEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [train.schedule] besides `name` and the warm-up's.
  RateFactor (*make)(const Options& options);
  /// Whether its keys name epochs: after a warm-up they still count from the start of training.
  bool counts_from_start = false;
};
const std::vector<ScheduleEntry>& schedules();

/// The keys of [train.schedule] common to all schedules: name, warmup_epochs, warmup_start.
const std::vector<OptionSpec>& common_schedule_options();

/// Makes a schedule from the table `[train.schedule]` (`name`, its options, `warmup_epochs`,
/// `warmup_start`); without a table it is constant. A warm-up rises linearly from `warmup_start` (a
/// fraction) to 1; the named schedule follows.
std::unique_ptr<Schedule> MakeSchedule(const Value& table);

}  // namespace yoke
