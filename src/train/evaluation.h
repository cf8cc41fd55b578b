// Evaluation: measures a model on all examples of a reader, or its search by hash tables.
#pragma once

#include <atomic>
#include <cstdint>

#include "data/reader.h"
#include "model/graph.h"
#include "model/output_search.h"
#include "train/metrics.h"

namespace yoke {

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

}  // namespace yoke
