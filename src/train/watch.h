// Watch: the metrics that a job watches: the one that ends training, and the one that selects the
// best checkpoint.
#pragma once

#include <string>

#include "train/checkpoint/checkpoint.h"
#include "train/job/job.h"
#include "train/metrics.h"

namespace yoke {

class Watch {
 public:
  /// Throws UserError if [train] target or [checkpoint] best names a metric that these data do not
  /// have, or if there are no data to measure on.
  Watch(const Job& job, const DataSets& data);

  /// Whether these metrics of the watched data (the validation share, else the test data) reach the
  /// target. Empty metrics never do.
  bool ReachesTarget(const Metrics& metrics) const;
  bool KeepsBest() const { return !best_.empty(); }
  /// Whether they are the best so far; if so, stores the value in `position`.
  bool IsBest(const Metrics& metrics, Position& position) const;

 private:
  std::string best_;  ///< Metric names; "": none.
  std::string target_;
  double bound_ = 0;
  bool at_least_ = true;
};

}  // namespace yoke
