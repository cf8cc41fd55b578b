// Ranking: a plan for the layers below the output, and a kernel that computes scores and keeps only
// what is requested.
#include "model/ranking.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/algorithms.h"
#include "base/check.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"

namespace yoke {
namespace {

constexpr int64_t kRankedAtOnce = 16;  // examples whose queries are hashed together
constexpr size_t kAhead = 6;           // rows prefetched

ScoreSum SumFor(bool softmax, bool losses) {
  if (softmax) return ScoreSum::kLogExp;
  return losses ? ScoreSum::kSoftplus : ScoreSum::kNone;
}

double LogSumExp(const std::vector<float>& scores) {
  if (scores.empty()) return -HUGE_VAL;
  const float greatest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - greatest);
  return greatest + std::log(sum);
}

}  // namespace

struct Ranking::Searcher {
  explicit Searcher(int64_t top) : best(top) {}
  Marks marks;
  std::vector<uint32_t> keys;
  std::vector<int32_t> ids;
  std::vector<float> query, scores;  ///< Scores: of ids.
  BestScores best;
};

bool IsRanked(const Graph& graph) {
  const auto output = graph.Output();
  return output && output->outputs >= kLeastRanked && !graph.task().regression;
}

void RequireRanked(const Graph& graph) {
  Require(IsRanked(graph),
          "hash tables search models that end in a linear layer over dense input with at least {} "
          "outputs; this one has {}{}: expected an exact search",
          kLeastRanked, graph.task().outputs,
          graph.Output() ? "" : " that are not of such a layer");
}

Ranking::Ranking(const Graph& graph, const RankingRequest& request)
    : layout_(graph.layout()),
      output_(graph.Output().value()),
      request_(request),
      softmax_(graph.IsSoftmax()),
      top_(std::min(request.top, output_.outputs)),
      ids_(request.batch * top_),
      scores_(request.batch * top_),
      sums_(request.batch),
      losses_(request.batch),
      scored_(request.batch, output_.outputs),
      one_each_(request.batch + 1) {
  const bool dense = layout_.slices()[output_.weight].kind == SliceKind::kDense;
  type_ = dense ? request.arithmetic : DType::kF32;
  below_ = graph.Compile({.batch = request.batch,
                          .arithmetic = request.arithmetic,
                          .target = request.target,
                          .below_output = true});
  std::iota(one_each_.begin(), one_each_.end(), int64_t{0});
  if (request.tables) {
    Check(!request.losses, "losses take all scores");
    searchers_.assign(KernelThreads(), Searcher(top_));
    return;
  }
  kernel_ = MakeTopScores({.batch = request.batch,
                           .inputs = output_.inputs,
                           .outputs = output_.outputs,
                           .type = type_,
                           .weight_type = dense ? type_ : layout_.slices()[output_.weight].type,
                           .top = top_,
                           .sum = SumFor(softmax_, request.losses)},
                          request.target);
}

Ranking::~Ranking() = default;

void Ranking::Forward(const Batch& batch, const ParamView& params) {
  const bool copy = request_.arithmetic == DType::kBf16 && !params.bf16;
  const ParamView view = copy ? bf16_.Refresh(params) : params;
  const SparseRows labels = Labels(batch);
  below_->PrepareAndForward(batch, view);
  if (request_.tables) return Search(view);
  label_scores_.resize(static_cast<size_t>(labels.Entries()));
  kernel_->Forward({.input = below_->Scores().As<float>(),
                    .weight = Values(output_.weight, view),
                    .bias = output_.bias < 0 ? nullptr : Values(output_.bias, view),
                    .wanted = labels,
                    .ids = ids_.data(),
                    .scores = scores_.data(),
                    .sums = sums_.data(),
                    .wanted_scores = label_scores_.data()});
  if (request_.losses) ComputeLosses(labels);
}

/// Threads divide the examples.
void Ranking::Search(const ParamView& params) {
#pragma omp parallel for schedule(dynamic) num_threads(static_cast <int>(searchers_.size()))
  for (int64_t first = 0; first < request_.batch; first += kRankedAtOnce)
    SearchBlock(first, std::min(kRankedAtOnce, request_.batch - first), params,
                searchers_[omp_get_thread_num()]);
}

void Ranking::SearchBlock(int64_t first, int64_t count, const ParamView& params,
                          Searcher& searcher) {
  const OutputSearch& search = *request_.tables;
  const int64_t tables = search.search_settings().tables;
  const float* hidden = below_->Scores().As<float>() + first * output_.inputs;
  search.Keys(hidden, count, searcher.keys);
  const void* weight = Values(output_.weight, params);
  const void* bias = output_.bias < 0 ? nullptr : Values(output_.bias, params);
  for (int64_t n = 0; n < count; ++n) {
    search.Find(searcher.keys.data() + n * tables, searcher.marks, searcher.ids);
    searcher.query.assign(hidden + n * output_.inputs, hidden + (n + 1) * output_.inputs);
    if (type_ == DType::kBf16) {
      for (float& x : searcher.query) x = static_cast<float>(Bf16(x));
      SearchOne(first + n, static_cast<const Bf16*>(weight), static_cast<const Bf16*>(bias),
                searcher);
    } else if (layout_.slices()[output_.weight].type == DType::kBf16) {
      SearchOne(first + n, static_cast<const Bf16*>(weight), static_cast<const float*>(bias),
                searcher);
    } else {
      SearchOne(first + n, static_cast<const float*>(weight), static_cast<const float*>(bias),
                searcher);
    }
  }
}

/// Scores the outputs found; memory latency dominates, so rows are prefetched.
template <typename Weight, typename Bias>
void Ranking::SearchOne(int64_t example, const Weight* weight, const Bias* bias,
                        Searcher& searcher) {
  const int64_t inputs = output_.inputs;
  const std::vector<int32_t>& ids = searcher.ids;
  searcher.best.Clear();
  searcher.scores.resize(ids.size());
  for (size_t k = 0; k < ids.size(); ++k) {
    if (k + kAhead < ids.size()) FetchAhead(weight + ids[k + kAhead] * inputs, inputs);
    const float score = Dot(weight + ids[k] * inputs, searcher.query.data(), inputs) +
                        (bias ? static_cast<float>(bias[ids[k]]) : 0.0F);
    searcher.scores[k] = score;
    searcher.best.Offer(score, ids[k]);
  }
  scored_[example] = static_cast<int64_t>(ids.size());
  if (softmax_) sums_[example] = LogSumExp(searcher.scores);
  const std::vector<BestScores::Entry>& best = searcher.best.Sort();
  for (size_t k = 0; k < static_cast<size_t>(top_); ++k) {
    const bool known = k < best.size();
    ids_[example * top_ + k] = known ? best[k].second : -1;
    scores_[example * top_ + k] = known ? best[k].first : 0;
  }
}

const void* Ranking::Values(int slice, const ParamView& params) const {
  const int64_t offset = layout_.slices()[slice].offset;
  if (type_ == DType::kBf16) return params.bf16 + offset;
  return params.values.Host().data() + offset;
}

SparseRows Ranking::Labels(const Batch& batch) {
  if (!request_.losses) return {};
  CheckLabels(batch, {.batch = request_.batch, .outputs = output_.outputs});
  if (batch.classes.empty()) return batch.labels.View();
  return {.rows = batch.size,
          .width = output_.outputs,
          .offsets = one_each_.data(),
          .ids = batch.classes.data()};
}

/// The formulas of CrossEntropy.
void Ranking::ComputeLosses(const SparseRows& labels) {
  const float* score = label_scores_.data();
  for (int64_t n = 0; n < labels.rows; ++n) {
    const int64_t count = labels.offsets[n + 1] - labels.offsets[n];
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += *score++;
    if (softmax_)
      losses_[n] = count ? sums_[n] - sum / static_cast<double>(count) : 0;
    else
      losses_[n] = sums_[n] - sum;
  }
}

Scorer::Scorer(const Graph& graph, CompileRequest request)
    : device_(*request.target.device), stream_(device_.NewStream()) {
  request.target.stream = stream_.get();
  plan_ = graph.Compile(request);
}

std::span<float> Scorer::Forward(const Batch& batch, const ParamView& params) {
  plan_->PrepareAndForward(batch, params);
  const Tensor scores = plan_->Scores();
  if (device_.IsHost()) return {scores.As<float>(), static_cast<size_t>(scores.Count())};
  if (copy_.bytes() == 0) copy_ = Buffer(device_.staging(), scores.Bytes());
  stream_->Copy(copy_.data(), scores.data, scores.Bytes());
  stream_->Wait();
  return AllOf<float>(copy_).Host();
}

}  // namespace yoke
