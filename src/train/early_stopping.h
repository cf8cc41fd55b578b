// EarlyStopping: the metrics that a job watches: the one that ends training, and the one that
// selects the best checkpoint and stops training when it no longer improves.
#pragma once

#include <string>

#include "train/checkpoint/checkpoint.h"
#include "train/job/job.h"
#include "train/metrics.h"

namespace yoke {

/// The metric of the checkpoint `best`, from [checkpoint] best, [train] early_stopping or schedule
/// plateau of a resolved job; "": none is kept. Throws UserError if these name several.
std::string BestMetric(const Value& job);

/// Goes on in `position` from the best value so far of a checkpoint in `run`. It counts only for
/// the same metric on as large a sample, and if its weights still exist.
void TakeBest(const CheckpointHeader& header, const Job& job, const std::string& run,
              Position& position);

/// Whether the learning rate waits for evaluations: schedule plateau.
bool FollowsEvaluations(const Job& job);

class EarlyStopping {
 public:
  /// Throws UserError if [train] target, early_stopping or [checkpoint] best names a metric that
  /// these data do not have, or if there are no data to measure on.
  EarlyStopping(const Job& job, const DataSets& data);

  /// Whether these metrics of the watched data (the validation share, else the test data) reach the
  /// target. Empty metrics never do.
  bool ReachesTarget(const Metrics& metrics) const;
  bool KeepsBest() const { return !best_.empty(); }
  /// Whether they are the best so far; if so, stores the value in `position`.
  bool IsBest(const Metrics& metrics, Position& position) const;
  /// Counts an evaluation in `position`: the evaluations since the best, and plateaus.
  void Count(bool best, Position& position) const;
  /// Whether early stopping ends training after so many evaluations since the best one.
  bool IsStale(const Position& position) const {
    return patience_ > 0 && position.stale >= patience_;
  }
  /// "validation accuracy 0.912": the best so far.
  std::string BestText(const Position& position) const;

 private:
  std::string best_;         ///< Metric names; "": none.
  std::string measured_on_;  ///< "validation" or "test"
  int64_t patience_ = 0;     ///< Evaluations; 0: no early stopping.
  int64_t plateau_ = 0;      ///< The same of schedule plateau.
  std::string target_;
  double bound_ = 0;
  bool at_least_ = true;
};

}  // namespace yoke
