// Evaluation: one thread computes each chunk of examples; chunks are summed in the order of the
// data.
#include "train/evaluation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/thread.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "model/bf16_copy.h"
#include "model/ranking.h"
#include "train/target_sums.h"

namespace yoke {
namespace {

constexpr int kRanksJudged = 5;
constexpr int kOnADevice = 2;  // threads: one reads or measures while the other waits
constexpr std::array<int, 3> kPrecisionAt = {1, 3, 5};
constexpr std::array<int, 2> kRecallAt = {1, 5};

/// Of the mean of `n` examples drawn from `all` without repetition.
double StandardError(const Sum& sum, double n, double all) {
  const double variance = (sum.squares - sum.values * sum.values / n) / (n - 1);
  return std::sqrt(std::max(variance, 0.0) / n * (1 - n / all));
}

/// Sums over some examples.
struct Sums {
  Sum loss, correct;
  std::vector<TargetSums> targets = {};
  std::array<Sum, kPrecisionAt.size()> precision = {};
  // Search by tables:
  std::array<double, kRecallAt.size()> recall = {};
  int64_t scored = 0;
  double search_seconds = 0, exact_seconds = 0;

  Sums& operator+=(const Sums& more) {
    loss += more.loss;
    correct += more.correct;
    AddTargets(more.targets, targets);
    for (size_t k = 0; k < precision.size(); ++k) precision[k] += more.precision[k];
    for (size_t k = 0; k < recall.size(); ++k) recall[k] += more.recall[k];
    scored += more.scored;
    search_seconds += more.search_seconds;
    exact_seconds += more.exact_seconds;
    return *this;
  }
};

/// Examples per chunk: a power of two of at most 1024 that fits a core's part of the cache. Depends
/// only on the model and the number of examples. For ranked outputs, whose scores are not stored:
/// enough examples to be worth a pass over the weights, but several chunks per thread.
int64_t ChunkSize(const Graph& graph, int64_t examples) {
  constexpr int64_t kBytes = 16 << 20, kLeastRanked = 64, kMostRanked = 256, kChunks = 8;
  const bool ranked = IsRanked(graph);
  int64_t elements = graph.task().input.sparse ? 0 : graph.task().input.shape.Count();
  for (const LayerInfo& layer : graph.Info()) elements += layer.output.Count();
  if (ranked) elements -= graph.task().outputs;
  int64_t size = ranked ? kMostRanked : 1024;
  while (ranked && size > kLeastRanked && size * kChunks > examples) size /= 2;
  while (size > 1 && size * elements * SizeOf(DType::kF32) > kBytes) size /= 2;
  return size;
}

/// Whether class `label` has the greatest score, ties by index; false if its score is NaN.
bool IsFirst(const float* scores, int64_t outputs, int32_t label) {
  for (int64_t j = 0; j < outputs; ++j)
    if (j != label && !(scores[label] > scores[j] || (scores[label] == scores[j] && label < j)))
      return false;
  return true;
}

/// Adds the fraction of the k best-scored labels that are in the example's set, for each k. A set
/// without labels counts 0.
void AddPrecision(std::span<const int32_t> top, std::span<const int32_t> labels, Sums& sums) {
  for (size_t k = 0; k < kPrecisionAt.size(); ++k) {
    int hits = 0;
    for (size_t i = 0; i < top.size() && i < static_cast<size_t>(kPrecisionAt[k]); ++i)
      hits += std::find(labels.begin(), labels.end(), top[i]) != labels.end();
    sums.precision[k] += static_cast<double>(hits) / kPrecisionAt[k];
  }
}

std::span<const int32_t> LabelsOf(const SparseRows& labels, int64_t example) {
  return {labels.ids + labels.offsets[example], labels.ids + labels.offsets[example + 1]};
}

/// One thread's plans: `scores` or `ranking`, and `search` for a search.
struct Plans {
  std::unique_ptr<Scorer> scores;
  std::unique_ptr<Ranking> ranking;
  std::unique_ptr<Ranking> search;
};

/// One evaluation: the data, the threads' shared state, and the results.
class Evaluation {
 public:
  Evaluation(const Reader& reader, const EvaluateRequest& request,
             const OutputSearch* tables = nullptr)
      : reader_(reader),
        request_(request),
        tables_(tables),
        ranked_(IsRanked(request.graph)),
        params_(FindValues()),
        chunk_(ChunkSize(request.graph, reader.Size())),
        sums_((reader.Size() + chunk_ - 1) / chunk_),
        bf16_({.device = &device(), .stream = &device().stream()}) {
    if (HasCurve()) scored_.resize(static_cast<size_t>(reader.Size()));
    if (request.arithmetic == DType::kBf16) params_ = bf16_.Refresh(params_);
    device().stream().Wait();
    params_.gradients = nullptr;
  }

  /// Returns false if it was stopped.
  bool Run() {
    const int most = device().IsHost() ? std::max(request_.threads, 1) : kOnADevice;
    const int threads = static_cast<int>(std::min<int64_t>(most, std::ssize(sums_)));
    ParallelFor(threads, threads, [this](int64_t, int64_t) { Work(); });
    for (const Sums& part : sums_) total_ += part;
    return !Stopped();
  }

  Metrics Total() {
    if (reader_.Info().regression)
      return MetricsOf(total_.targets, total_.loss.values, reader_.Info(), reader_.Size());
    Metrics metrics;
    AddMean("loss", total_.loss, metrics);
    AddHits(metrics);
    if (HasCurve()) metrics.emplace_back("auc", AreaUnderCurve(std::move(scored_)));
    return metrics;
  }

  SearchResult Search() const {
    SearchResult result = {.scored = static_cast<double>(total_.scored) / examples(),
                           .search_seconds = total_.search_seconds / examples(),
                           .exact_seconds = total_.exact_seconds / examples()};
    AddHits(result.metrics);
    for (size_t k = 0; k < kRecallAt.size(); ++k)
      result.metrics.emplace_back(fmt::format("recall_at_{}", kRecallAt[k]),
                                  total_.recall[k] / examples());
    return result;
  }

 private:
  /// Ranking computes on the CPU, and so do values in the host's memory: plans for them take
  /// ordinary memory, even if theirs is a device's staging memory.
  ParamView FindValues() {
    ParamView view = request_.params;
    if (ranked_ || view.values.OnHost()) view.values = OnHost(host_values_.Read(view.values));
    return view;
  }
  Device& device() const { return *params_.values.device; }

  double examples() const { return static_cast<double>(reader_.Size()); }

  void AddMean(const std::string& name, const Sum& sum, Metrics& metrics) const {
    metrics.emplace_back(name, sum.values / examples());
    if (request_.sample_of > 0)
      metrics.emplace_back(ErrorName(name),
                           StandardError(sum, examples(), static_cast<double>(request_.sample_of)));
  }

  void AddHits(Metrics& metrics) const {
    if (!reader_.Info().multi_label) return AddMean("accuracy", total_.correct, metrics);
    for (size_t k = 0; k < kPrecisionAt.size(); ++k)
      AddMean(fmt::format("p_at_{}", kPrecisionAt[k]), total_.precision[k], metrics);
  }

  bool HasCurve() const {
    const DataInfo& info = reader_.Info();
    return !info.multi_label && !info.regression && info.outputs == 2;
  }

  bool Stopped() const { return StopIsAsked(request_.stop); }

  /// One thread: takes chunks until none are left. Its kernels use this thread only, so the sums do
  /// not depend on the number of threads.
  void Work() {
    const int before = KernelThreads();
    SetKernelThreads(1);
    Batch batch;
    Plans plans;
    int64_t compiled = 0;
    for (size_t i; !Stopped() && (i = next_++) < sums_.size();) {
      Read(static_cast<int64_t>(i) * chunk_, batch);
      if (batch.size != compiled) plans = Compile(compiled = batch.size);
      if (tables_)
        Measure(batch, *plans.ranking, *plans.search, sums_[i]);
      else if (ranked_)
        Measure(batch, *plans.ranking, sums_[i]);
      else
        Measure(batch, *plans.scores, sums_[i]);
    }
    SetKernelThreads(before);
  }

  void Read(int64_t begin, Batch& batch) const {
    std::vector<int64_t> examples(static_cast<size_t>(std::min(chunk_, reader_.Size() - begin)));
    std::iota(examples.begin(), examples.end(), begin);
    reader_.Read({.examples = examples, .as_stored = !device().IsHost()}, batch);
    batch.weights.clear();  // they are for training
  }

  Plans Compile(int64_t size) const {
    const Graph& graph = request_.graph;
    RankingRequest ranking = {.batch = size,
                              .arithmetic = request_.arithmetic,
                              .target = {.reference = request_.reference_kernels},
                              .top = kRanksJudged,
                              .losses = !tables_};
    Plans plans;
    if (!ranked_)
      plans.scores = std::make_unique<Scorer>(
          graph,
          CompileRequest{.batch = size,
                         .arithmetic = request_.arithmetic,
                         .target = {.device = &device(), .reference = request_.reference_kernels}});
    else
      plans.ranking = std::make_unique<Ranking>(graph, ranking);
    ranking.tables = tables_;
    if (tables_) plans.search = std::make_unique<Ranking>(graph, ranking);
    return plans;
  }

  void Measure(const Batch& batch, Ranking& ranking, Sums& sums) {
    ranking.Forward(batch, params_);
    for (int64_t i = 0; i < batch.size; ++i) sums.loss += ranking.Loss(i);
    AddHits(batch, ranking, sums);
  }

  void Measure(const Batch& batch, Ranking& exact, Ranking& search, Sums& sums) {
    const double began = Now();
    exact.Forward(batch, params_);
    const double between = Now();
    search.Forward(batch, params_);
    sums.search_seconds = Now() - between;
    sums.exact_seconds = between - began;
    AddHits(batch, search, sums);
    for (int64_t i = 0; i < batch.size; ++i) {
      sums.scored += search.Scored(i);
      for (size_t k = 0; k < kRecallAt.size(); ++k)
        sums.recall[k] += Recall(exact.Ids(i), search.Ids(i), kRecallAt[k]);
    }
  }

  void AddHits(const Batch& batch, const Ranking& ranking, Sums& sums) const {
    const SparseRows labels = batch.labels.View();
    for (int64_t i = 0; i < batch.size; ++i) {
      const std::span<const int32_t> top = ranking.Ids(i);
      if (reader_.Info().multi_label)
        AddPrecision(top, LabelsOf(labels, i), sums);
      else
        sums.correct += top[0] == batch.classes[i] && !std::isnan(ranking.Sum(i)) ? 1.0 : 0.0;
    }
  }

  void Measure(const Batch& batch, Scorer& scorer, Sums& sums) {
    const std::span<const float> all = scorer.Forward(batch, params_);
    sums.loss.values = scorer.Loss() * static_cast<double>(batch.size);
    if (FirstNonFinite(all) >= 0) sums.loss.values = NAN;  // -inf for another class: it is finite
    if (reader_.Info().regression)
      return AddTargets(all, batch.targets, reader_.Info().outputs, sums.targets);
    if (request_.sample_of > 0) sums.loss.squares = SquaresOfLosses(batch, all.data());
    const int64_t outputs = reader_.Info().outputs;
    const SparseRows labels = batch.labels.View();
    for (int64_t i = 0; i < batch.size; ++i) {
      const float* scores = all.data() + i * outputs;
      if (reader_.Info().multi_label) {
        AddPrecision(TopScores({scores, static_cast<size_t>(outputs)}, kRanksJudged),
                     LabelsOf(labels, i), sums);
      } else {
        sums.correct += IsFirst(scores, outputs, batch.classes[i]) ? 1.0 : 0.0;
        if (request_.confusion) CountClass(batch.classes[i], scores);
      }
      if (!scored_.empty())
        scored_[batch.examples[i]] = {scores[1] - scores[0], batch.classes[i] == 1};
    }
  }

  /// Threads add to the same counts.
  void CountClass(int32_t truth, const float* scores) const {
    const auto found = std::max_element(scores, scores + reader_.Info().outputs) - scores;
    std::atomic_ref<int64_t>(request_.confusion->At(truth, found))
        .fetch_add(1, std::memory_order_relaxed);
  }

  double SquaresOfLosses(const Batch& batch, const float* scores) const {
    std::vector<float> losses(static_cast<size_t>(batch.size));
    MakeCrossEntropy({.function = std::get<CrossEntropy>(request_.graph.Loss()),
                      .batch = batch.size,
                      .outputs = reader_.Info().outputs},
                     {.reference = request_.reference_kernels})
        ->Forward({.scores = scores, .labels = batch.Targets(), .losses = losses.data()});
    Sum sum;
    for (const float loss : losses) sum += loss;
    return sum.squares;
  }

  const Reader& reader_;
  const EvaluateRequest& request_;
  const OutputSearch* tables_;  ///< May be null.
  bool ranked_;
  HostCopy host_values_;  // of ranked outputs
  ParamView params_;
  int64_t chunk_;
  std::vector<Sums> sums_;  ///< By chunk.
  Sums total_;
  std::vector<std::pair<float, bool>> scored_;
  Bf16Copy bf16_;
  std::atomic<size_t> next_ = 0;
};

void CheckData(const Reader& reader) {
  Require(reader.Info().labelled, "the data has no labels, which an evaluation needs");
  Require(reader.Size() > 0, "there are no examples to evaluate");
}

}  // namespace

Metrics Evaluate(const Reader& reader, const EvaluateRequest& request) {
  CheckData(reader);
  const FlushScope flush;
  Evaluation evaluation(reader, request);
  return evaluation.Run() ? evaluation.Total() : Metrics();
}

SearchResult EvaluateSearch(const Reader& reader, const EvaluateRequest& request,
                            const OutputSearch& tables) {
  CheckData(reader);
  const FlushScope flush;
  Evaluation evaluation(reader, request, &tables);
  return evaluation.Run() ? evaluation.Search() : SearchResult();
}

}  // namespace yoke
