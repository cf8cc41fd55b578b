// Scorer: the scores of all outputs of each example. Ranking: the best outputs and the loss, for
// models with too many outputs to store all scores.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/best_scores.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/top_scores/top_scores.h"
#include "model/bf16_copy.h"
#include "model/graph.h"
#include "model/output_search.h"

namespace yoke {

/// From this number of outputs on, storing all scores costs more than it saves.
inline constexpr int64_t kLeastRanked = 4096;

/// Whether a Ranking can be used for this graph: its output is a wide linear layer.
bool IsRanked(const Graph& graph);
/// Throws UserError unless it can.
void RequireRanked(const Graph& graph);

struct RankingRequest {
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
  Target target = {};
  int64_t top = 1;      ///< Outputs to return per example, at most all.
  bool losses = false;  ///< Batches have labels, and losses are to be computed.
  /// If set, only outputs found in these tables are scored, and there are no losses. Must outlive
  /// the Ranking.
  const OutputSearch* tables = nullptr;
};

/// Forward passes of a graph that IsRanked. Without tables they are exact over all outputs: equal
/// to a GraphPlan's scores up to rounding. With tables only the outputs found are scored. With bf16
/// arithmetic the product's operands are bf16 and its scores f32. One caller at a time.
class Ranking {
 public:
  Ranking(const Graph& graph, const RankingRequest& request);
  ~Ranking();

  void Forward(const Batch& batch, const ParamView& params);

  /// Number of outputs ranked for each example.
  int64_t top() const { return top_; }
  /// For an example of the last Forward: the outputs with the greatest scores, best first, ties by
  /// id; padded with -1 if NaNs leave too few scores.
  std::span<const int32_t> Ids(int64_t example) const { return Row(ids_, example); }
  std::span<const float> Scores(int64_t example) const { return Row(scores_, example); }
  /// If the loss is a softmax: log sum exp of the example's scores. Otherwise, if losses are
  /// requested: sum log(1 + exp(s)). NaN if a score is NaN. With tables only computed scores count.
  double Sum(int64_t example) const { return sums_[static_cast<size_t>(example)]; }
  double Loss(int64_t example) const { return losses_[static_cast<size_t>(example)]; }
  /// Number of the example's scores that were computed.
  int64_t Scored(int64_t example) const { return scored_[static_cast<size_t>(example)]; }
  /// Whether the loss is a softmax; otherwise it is a sum of sigmoids.
  bool softmax() const { return softmax_; }

 private:
  template <typename T>
  std::span<const T> Row(const std::vector<T>& rows, int64_t example) const {
    return {rows.data() + example * top_, static_cast<size_t>(top_)};
  }
  /// The working memory of one thread.
  struct Searcher;
  void Search(const ParamView& params);
  void SearchBlock(int64_t first, int64_t count, const ParamView& params, Searcher& searcher);
  template <typename Weight, typename Bias>
  void SearchOne(int64_t example, const Weight* weight, const Bias* bias, Searcher& searcher);
  const void* Values(int slice, const ParamView& params) const;
  SparseRows Labels(const Batch& batch);
  void ComputeLosses(const SparseRows& labels);

  const ParamLayout& layout_;
  OutputProduct output_;
  RankingRequest request_;
  bool softmax_;
  int64_t top_;
  DType type_;  ///< Type of the product's operands.
  std::unique_ptr<GraphPlan> below_;
  std::unique_ptr<TopScoresKernel> kernel_;
  std::vector<int32_t> ids_;
  std::vector<float> scores_, label_scores_;
  std::vector<double> sums_, losses_;
  std::vector<int64_t> scored_;
  std::vector<Searcher> searchers_;
  std::vector<int64_t> one_each_;  ///< 0, 1, ..., batch: row offsets for one class per example.
  Bf16Copy bf16_;
};

/// Forward passes of a graph where its values lie, with all scores on the host.
/// Has a stream of its own, so several work on a device at the same time. One caller at a time.
class Scorer {
 public:
  /// Compiles for batches of `request.batch` examples on `request.target.device`.
  Scorer(const Graph& graph, CompileRequest request);

  /// The scores [batch, outputs] once they are there, for the caller to change; valid until the
  /// next call.
  std::span<float> Forward(const Batch& batch, const ParamView& params);
  /// GraphPlan::Loss.
  double Loss() const { return plan_->Loss(); }

 private:
  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<GraphPlan> plan_;
  Buffer copy_;  // of another device's scores
};

}  // namespace yoke
