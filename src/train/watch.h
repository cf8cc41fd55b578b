// Watch: the metrics that a job looks at while it trains: the one that ends it, and the one whose
// best value is kept.
#pragma once

#include <string>

#include "train/checkpoint.h"
#include "train/job.h"
#include "train/metrics.h"

namespace yoke {

class Watch {
 public:
  /// Throws UserError when [train] target or [checkpoint] best name a metric that this data does
  /// not have, or when there is nothing to measure on.
  Watch(const Job& job, const DataSets& data);

  /// Whether these metrics of the watched data (validation share, else test data) reach the target.
  /// Empty ones never do.
  bool ReachesTarget(const Metrics& metrics) const;
  /// Whether they are better than any before; `position` then remembers them.
  bool IsBest(const Metrics& metrics, Position& position) const;

 private:
  std::string best_;  ///< Metric names; "": none.
  std::string target_;
  double bound_ = 0;
  bool at_least_ = true;
};

}  // namespace yoke
