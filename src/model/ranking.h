// Ranking: the best outputs of each example and the losses, where there are too many outputs to
// keep all their scores.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/best_scores.h"
#include "kernels/cross_entropy.h"
#include "kernels/top_scores.h"
#include "model/graph.h"
#include "model/low_copy.h"
#include "model/output_tables.h"

namespace yoke {

/// From so many outputs on keeping the scores costs more than it saves.
inline constexpr int64_t kLeastRanked = 4096;

/// Whether a Ranking serves this graph: its output is a product, and wide.
bool IsRanked(const Graph& graph);

struct RankingRequest {
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
  bool reference = false;
  int64_t top = 1;      ///< At most the outputs are given.
  bool losses = false;  ///< Batches have labels, and their losses are wanted.
  /// Only outputs that are found here are scored: no losses then. Must outlive the Ranking.
  const OutputTables* tables = nullptr;
};

/// Forward passes of a graph that IsRanked, exact over all outputs: equal to a GraphPlan's scores
/// but for rounding; with tables, over those that they find. For bf16 arithmetic the product's
/// factors are bf16, its scores f32. One caller at a time.
class Ranking {
 public:
  Ranking(const Graph& graph, const RankingRequest& request);
  ~Ranking();

  void Forward(const Batch& batch, const ParamView& params);

  /// How many outputs are ranked for each example.
  int64_t top() const { return top_; }
  /// Of the last Forward's example: the outputs with the greatest scores, best first, equals by
  /// id; -1 behind them when too few scores are numbers.
  std::span<const int32_t> Ids(int64_t example) const { return Row(ids_, example); }
  std::span<const float> Scores(int64_t example) const { return Row(scores_, example); }
  /// log sum exp of all the example's scores where the loss is a softmax; where it is not, and
  /// losses are wanted, sum log(1 + exp(s)). NaN when a score is one. With tables: of the scores
  /// that are known.
  double Sum(int64_t example) const { return sums_[static_cast<size_t>(example)]; }
  double Loss(int64_t example) const { return losses_[static_cast<size_t>(example)]; }
  /// How many of the example's scores were computed.
  int64_t Scored(int64_t example) const { return scored_[static_cast<size_t>(example)]; }
  /// The loss above the output: that of a softmax, or of sigmoids.
  bool softmax() const { return softmax_; }

 private:
  template <typename T>
  std::span<const T> Row(const std::vector<T>& rows, int64_t example) const {
    return {rows.data() + example * top_, static_cast<size_t>(top_)};
  }
  /// What one thread searches with.
  struct Searcher;
  void Search(const ParamView& params);
  void SearchBlock(int64_t first, int64_t count, const ParamView& params, Searcher& searcher);
  template <typename T>
  void SearchOne(int64_t example, const T* weight, const T* bias, Searcher& searcher);
  const void* Values(int slice, const ParamView& params) const;
  SparseRows Labels(const Batch& batch);
  void ComputeLosses(const SparseRows& labels);

  const ParamLayout& layout_;
  OutputProduct output_;
  RankingRequest request_;
  bool softmax_;
  int64_t top_;
  DType type_;  ///< Of the product.
  std::unique_ptr<GraphPlan> below_;
  std::unique_ptr<TopScoresKernel> kernel_;
  std::vector<int32_t> ids_;
  std::vector<float> scores_, label_scores_;
  std::vector<double> sums_, losses_;
  std::vector<int64_t> scored_;
  std::vector<Searcher> searchers_;
  std::vector<int64_t> one_each_;  ///< 0, 1, ..., batch: the rows of one class an example.
  LowCopy low_;
};

}  // namespace yoke
