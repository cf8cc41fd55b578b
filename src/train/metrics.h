// Metrics: the results of evaluation, by name.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "model/output_search.h"
#include "train/confusion.h"

namespace yoke {

/// Name -> value in a fixed order: loss, accuracy, p_at_1, p_at_3, p_at_5, auc, rmse, mae, r2
/// (those that apply).
using Metrics = std::vector<std::pair<std::string, double>>;

/// What rank 0's layers counted while training (model/layer_counts.h), and where its steps' time
/// went; empty where none counts.
struct LayerReport {
  std::vector<std::pair<std::string, Metrics>> layers;  ///< By the layer's name.
  Metrics step_seconds;  ///< all, update (exchange included), other_layers; empty: not known.
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

/// Evaluates packed values on every example of a reader, in large batches without dropout: on all
/// threads or, if the values lie on another device and are not ranked (IsRanked), on that device.
/// The result does not depend on the number of threads. `p_at_k` is the fraction of the k
/// best-scored labels that the example has, averaged over all examples (one without labels counts
/// as 0). Throws UserError for data without examples or labels.
struct EvaluateRequest {
  const Graph& graph;
  const ParamView& params;
  DType arithmetic = DType::kF32;
  bool reference_kernels = false;
  int threads = 1;
  /// Not 0: the examples are a random sample of so many, and each metric but auc is followed by its
  /// standard error, with the correction for a finite population, as NAME_error. A regression has
  /// none.
  int64_t sample_of = 0;
  /// If not 0, evaluation stops and the metrics are empty.
  const std::atomic<int>* stop = nullptr;
  Confusion* confusion = nullptr;  ///< Gets the counts of classes, of a model that is not ranked.
};
/// The loss is NaN if any score is not finite.
Metrics Evaluate(const Reader& reader, const EvaluateRequest& request);

/// A search by hash tables compared with the exact ranking of the same examples.
struct SearchResult {
  /// accuracy, or p_at_1, 3 and 5, of the search; recall_at_1 and 5: the fraction of the exact
  /// ranking's best that the search ranks as high. The loss needs all scores and is unknown.
  Metrics metrics;
  double scored = 0;  ///< Mean number of outputs scored per example.
  /// Seconds of one thread per example, including all layers.
  double search_seconds = 0, exact_seconds = 0;
};
/// Like Evaluate. The results except the seconds do not depend on the number of threads.
SearchResult EvaluateSearch(const Reader& reader, const EvaluateRequest& request,
                            const OutputSearch& tables);

/// Fraction of the first `k` ids of `exact` (or fewer, if it has fewer) that are among the first
/// `k` of `found`; -1 is not an id. 1 if `exact` has none.
double Recall(std::span<const int32_t> exact, std::span<const int32_t> found, size_t k);

/// Indices of the `count` greatest scores, best first, ties by index; NaNs are skipped.
std::vector<int32_t> TopScores(std::span<const float> scores, int count);

/// Area under the ROC curve of scores for label 1 against 0. Ties count one half. NaN if a class is
/// absent.
double AreaUnderCurve(std::vector<std::pair<float, bool>> scored);

}  // namespace yoke
