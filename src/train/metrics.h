// Metrics: the results of evaluation, by name, and what is counted of one example or curve.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/reader.h"

namespace yoke {

/// Name -> value in a fixed order: loss, accuracy, p_at_1, p_at_3, p_at_5, auc, rmse, mae, r2
/// (those that apply).
using Metrics = std::vector<std::pair<std::string, double>>;

/// What rank 0's layers counted while training (LayerCounts), and where its steps' time
/// went; empty where none counts.
struct LayerReport {
  std::vector<std::pair<std::string, Metrics>> layers;  ///< By the layer's name.
  Metrics step_seconds;  ///< all, update (exchange included), other_layers; empty: not known.
};

/// How steps waited for their batches.
struct DataWait {
  double part = 0;  ///< Of their time: rank 0 waited, or read batches itself.
  int threads = 0;  ///< That read ahead.
};

/// The metrics that apply to a data set. Classes: loss, accuracy, and auc when there are two; label
/// sets: loss and p_at_1, 3, 5; targets: loss, rmse, mae and r2.
std::vector<std::string> MetricNames(const DataInfo& data);
/// The value of a metric. Throws UserError with the existing metrics if it is missing.
double MetricOf(const Metrics& metrics, const std::string& name);
/// "loss_error": the name of a metric's standard error.
std::string ErrorName(const std::string& metric);
/// Whether a higher value is better (all except loss, rmse and mae).
bool MoreIsBetter(const std::string& name);

/// Fraction of the first `k` ids of `exact` (or fewer, if it has fewer) that are among the first
/// `k` of `found`; -1 is not an id. 1 if `exact` has none.
double Recall(std::span<const int32_t> exact, std::span<const int32_t> found, size_t k);

/// Indices of the `count` greatest scores, best first, ties by index; NaNs are skipped.
std::vector<int32_t> TopScores(std::span<const float> scores, int count);

/// Area under the ROC curve of scores for label 1 against 0. Ties count one half. NaN if a class is
/// absent.
double AreaUnderCurve(std::vector<std::pair<float, bool>> scored);

/// How often examples of each class were taken for each other one, and what follows.
class Confusion {
 public:
  explicit Confusion(int64_t classes) : classes_(classes), counts_(classes * classes) {}

  int64_t classes() const { return classes_; }
  /// Examples of class `truth` whose best score is that of class `found`.
  int64_t& At(int64_t truth, int64_t found) { return counts_[truth * classes_ + found]; }
  int64_t At(int64_t truth, int64_t found) const { return counts_[truth * classes_ + found]; }
  int64_t Of(int64_t truth) const;       ///< Examples of the class.
  int64_t FoundAs(int64_t found) const;  ///< Examples taken for the class.

  /// The fraction of the examples taken for the class that are of it; 0 if there are none.
  double Precision(int64_t of) const;
  /// The fraction of the class's examples that were taken for it; 0 if there are none.
  double Recall(int64_t of) const;
  /// The harmonic mean of both; 0 if both are 0.
  double F1(int64_t of) const;
  /// The mean of the recalls of the classes that have examples.
  double BalancedAccuracy() const;

 private:
  int64_t classes_;
  std::vector<int64_t> counts_;
};

}  // namespace yoke
