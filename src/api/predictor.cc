// Predictor: by a Scorer, or by a Ranking where all scores of a batch are too many to store.
#include "api/predictor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "data/preprocess.h"
#include "train/job/parts.h"
#include "train/metrics.h"

namespace yoke {
namespace {

/// Converts scores to probabilities in place: softmax over all labels, or a sigmoid for each.
void ToProbabilities(std::span<float> scores, bool softmax) {
  if (!softmax) {
    for (float& s : scores) s = 1 / (1 + std::exp(-s));
    return;
  }
  const float greatest = *std::max_element(scores.begin(), scores.end());
  for (float& s : scores) s = std::exp(s - greatest);
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0F);
  for (float& s : scores) s /= sum;
}

}  // namespace

int64_t PredictionBatch(const Graph& graph, int64_t top) {
  constexpr int64_t kLargest = 256, kElements = 64 << 20;
  int64_t elements = 1;
  for (const LayerInfo& layer : graph.Info()) elements += layer.output.Count();
  if (IsRanked(graph)) elements -= graph.task().outputs;  // their scores are not stored
  elements += 2 * top;                                    // ids and scores
  return std::clamp<int64_t>(kElements / elements, 1, kLargest);
}

/// Batches have few sizes, each of which takes a scorer: the least that holds so many examples.
int64_t BatchFor(int64_t examples, int64_t most) {
  for (const int64_t size : {1, 16, 64})
    if (examples <= size && size <= most) return size;
  return std::max(examples, most);
}

Predictor::Predictor(const ModelFile& model, const PredictorRequest& request)
    : model_(model),
      values_(model),
      request_(request),
      most_(PredictionBatch(model.graph(), request.top)),
      ranked_(!request.all && IsRanked(model.graph())),
      softmax_(model.graph().IsSoftmax()) {}

void Predictor::Forward(const Reader& reader, int64_t begin, int64_t size) {
  const int64_t padded = ranked_ ? size : BatchFor(size, most_);
  std::vector<int64_t> examples(static_cast<size_t>(padded), begin + size - 1);
  std::iota(examples.begin(), examples.begin() + size, begin);
  const bool there = !ranked_ && !values_.device().IsHost();
  reader.Read({.examples = examples, .as_stored = there}, batch_);
  ranked_ ? Rank(size) : Score(padded);
}

void Predictor::Score(int64_t batch) {
  constexpr size_t kKept = 4;
  std::unique_ptr<Scorer>* scorer = &scorers_[batch];
  if (!*scorer) {
    if (scorers_.size() > kKept) scorers_.clear(), scorer = &scorers_[batch];
    *scorer = std::make_unique<Scorer>(
        model_.graph(), CompileRequest{.batch = batch,
                                       .arithmetic = ArithmeticOf(model_.job()),
                                       .target = {.device = &values_.device(),
                                                  .reference = model_.job().ReferenceKernels()}});
  }
  scores_ = (*scorer)->Forward(batch_, values_.params());
}

void Predictor::Rank(int64_t size) {
  if (size != ranking_batch_)
    ranking_ = std::make_unique<Ranking>(
        model_.graph(), RankingRequest{.batch = size,
                                       .arithmetic = ArithmeticOf(model_.job()),
                                       .target = {.reference = model_.job().ReferenceKernels()},
                                       .top = request_.top,
                                       .tables = request_.tables});
  ranking_batch_ = size;
  ranking_->Forward(batch_, values_.params());
}

/// `score`: one of the example's that is not finite, if there is one.
void Predictor::RequireFinite(float score, int64_t i) const {
  Require(std::isfinite(score),
          "{}: example {} has a score of {}: the weights are ruined, or the data are not of the "
          "kind that they were trained on",
          model_.folder(), batch_.examples[i], score);
}

std::span<float> Predictor::Scores(int64_t i) const {
  const auto outputs = static_cast<size_t>(model_.graph().task().outputs);
  const std::span<float> scores = scores_.subspan(i * outputs, outputs);
  const auto bad = std::ranges::find_if(scores, [](float s) { return !std::isfinite(s); });
  RequireFinite(bad == scores.end() ? 0 : *bad, i);
  return scores;
}

std::span<const float> Predictor::Probabilities(int64_t i) {
  const std::span<float> scores = Scores(i);
  ToProbabilities(scores, softmax_);
  return scores;
}

std::vector<double> Predictor::Values(int64_t i) const {
  const DataInfo& data = model_.header().data;
  std::vector<double> values;
  for (const float score : Scores(i)) {
    const size_t k = values.size();
    values.push_back(score * ByChannel(data.target_deviation, k, 1) +
                     ByChannel(data.target_mean, k, 0));
  }
  return values;
}

std::vector<Guess> Predictor::Sorted(int64_t i) {
  const std::span<const float> scores = Probabilities(i);
  std::vector<Guess> best;
  for (int32_t label : TopScores(scores, request_.top)) best.push_back({label, scores[label]});
  return best;
}

std::vector<Guess> Predictor::Ranked(int64_t i) const {
  std::vector<Guess> best;
  if (std::isnan(ranking_->Sum(i))) RequireFinite(NAN, i);
  for (int64_t k = 0; k < ranking_->top() && ranking_->Ids(i)[k] >= 0; ++k) {
    RequireFinite(ranking_->Scores(i)[k], i);
    const double score = ranking_->Scores(i)[k];
    const double p = softmax_ ? std::exp(score - ranking_->Sum(i)) : 1 / (1 + std::exp(-score));
    best.push_back({ranking_->Ids(i)[k], static_cast<float>(p)});
  }
  return best;
}

}  // namespace yoke
