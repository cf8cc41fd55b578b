// Metrics: what evaluation measures, by name.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "model/output_tables.h"

namespace yoke {

/// Name -> value in a fixed order: loss, accuracy, p_at_1, p_at_3, p_at_5, auc (those that apply).
using Metrics = std::vector<std::pair<std::string, double>>;

/// The metrics that apply to a data set. Classes: loss, accuracy, and auc when there are two; label
/// sets: loss and p_at_1, 3, 5.
std::vector<std::string> MetricNames(const DataInfo& data);
/// The value of a metric; throws UserError listing those there are when it is not among them.
double MetricOf(const Metrics& metrics, const std::string& name);
/// Whether more is better (all but loss).
bool MoreIsBetter(const std::string& name);

/// Evaluates packed values on every example of a reader, in large batches on all threads; dropout
/// off. The result does not depend on the number of threads. `p_at_k` is the share of the k
/// best-scored labels that the example has, averaged over all examples (one without labels counts
/// 0). Throws UserError for data without examples or labels.
struct EvaluateRequest {
  const Graph& graph;
  const ParamView& params;
  DType arithmetic = DType::kF32;
  bool reference_kernels = false;
  int threads = 1;
  const std::atomic<int>* stop = nullptr;  ///< Not 0: broken off, the metrics are empty.
};
Metrics Evaluate(const Reader& reader, const EvaluateRequest& request);

/// A search by hash tables beside the exact ranking of the same examples.
struct SearchResult {
  /// accuracy, or p_at_1, 3, 5, of what the search ranks; recall_at_1 and 5: the share of the exact
  /// ranking's best that it ranks as high. Losses take all scores and are not known.
  Metrics metrics;
  double scored = 0;  ///< Mean number of outputs that were scored for an example.
  /// Of one thread for one example, all layers counted.
  double search_seconds = 0, exact_seconds = 0;
};
/// As Evaluate. The figures, but not the seconds, are the same for any number of threads.
SearchResult EvaluateSearch(const Reader& reader, const EvaluateRequest& request,
                            const OutputTables& tables);

/// Share of the first `k` of `exact` (fewer, where it holds fewer) that are among the first `k` of
/// `found`; -1 is no id. 1 where there are none.
double Recall(std::span<const int32_t> exact, std::span<const int32_t> found, size_t k);

/// Indices of the `count` greatest scores, best first, equals by index; those that are no number
/// are left out.
std::vector<int32_t> TopScores(std::span<const float> scores, int count);

/// Area under the ROC curve of scores for label 1 against 0; ties count one half; NaN when a class
/// is absent.
double AreaUnderCurve(std::vector<std::pair<float, bool>> scored);

}  // namespace yoke
