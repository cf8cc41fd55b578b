// Ranking: a plan for the layers below the output, and a kernel that takes from the scores what is
// asked for.
#include "model/ranking.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace yoke {
namespace {

/// From here on keeping the scores costs more than it saves.
constexpr int64_t kWide = 4096;

bool IsSoftmax(const Graph& graph) { return graph.Info().back().type == "softmax_cross_entropy"; }

ScoreSum SumFor(bool softmax, bool losses) {
  if (softmax) return ScoreSum::kLogExp;
  return losses ? ScoreSum::kSoftplus : ScoreSum::kNone;
}

}  // namespace

bool IsRanked(const Graph& graph) {
  const auto output = graph.Output();
  return output && output->outputs >= kWide;
}

Ranking::Ranking(const Graph& graph, const RankingRequest& request)
    : layout_(graph.layout()),
      output_(graph.Output().value()),
      request_(request),
      softmax_(IsSoftmax(graph)),
      top_(std::min(request.top, output_.outputs)),
      ids_(request.batch * top_),
      scores_(request.batch * top_),
      sums_(request.batch),
      losses_(request.batch),
      one_each_(request.batch + 1) {
  const bool dense = layout_.slices()[output_.weight].kind == SliceKind::kDense;
  type_ = dense ? request.arithmetic : DType::kF32;
  below_ = graph.Compile({.batch = request.batch,
                          .arithmetic = request.arithmetic,
                          .reference = request.reference,
                          .below_output = true});
  kernel_ = MakeTopScores({.batch = request.batch,
                           .inputs = output_.inputs,
                           .outputs = output_.outputs,
                           .type = type_,
                           .top = top_,
                           .sum = SumFor(softmax_, request.losses)},
                          request.reference);
  std::iota(one_each_.begin(), one_each_.end(), int64_t{0});
}

void Ranking::Forward(const Batch& batch, const ParamView& params) {
  const bool copy = request_.arithmetic == DType::kBf16 && !params.low;
  const ParamView view = copy ? low_.Refresh(params) : params;
  below_->Forward(batch, view);
  const SparseRows labels = Labels(batch);
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

const void* Ranking::Values(int slice, const ParamView& params) const {
  const int64_t offset = layout_.slices()[slice].offset;
  if (type_ == DType::kBf16) return params.low + offset;
  return params.values + offset;
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

/// As CrossEntropy describes them.
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

}  // namespace yoke
