// Statistical efficiency: the noise scale from gradients of some batches.
#include "plan/statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/registry.h"
#include "kernels/threads.h"
#include "node/executor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr int kBatches = 16;  // for the mean gradient

constexpr double kMostRatio = 4;    // of examples: more tells of something else
constexpr double kFirstPart = 0.1;  // of a curve: its losses are those of the start
constexpr Efficiency kCostless = {.staleness = 0, .interval = 0};

/// 0: it tells nothing.
double RatioOfExamples(const TriedUse& one, const TriedUse& synchronous) {
  const double loss = std::max(LastLoss(one.curve), LastLoss(synchronous.curve));
  const double first = std::min(one.first_loss, synchronous.first_loss);
  if (!(loss < kLearned * first)) return 0;
  const double its = ExamplesTo(one.curve, loss), others = ExamplesTo(synchronous.curve, loss);
  const double shorter = std::min(one.curve.back().examples, synchronous.curve.back().examples);
  return std::min(its, others) < kFirstPart * shorter ? 0 : its / others;
}

}  // namespace

double MeasureNoiseScale(const Job& job, const Reader& data, const std::string& checkpoint) {
  const Graph graph = BuildModel(job.model(), TaskOf(data.Info()));
  const int64_t dense = graph.layout().dense_size();
  const int64_t size = std::min<int64_t>(job.train.Int("batch"), data.Size() / 2);
  if (size == 0 || graph.layout().HasRows()) return 0;
  ParamStore params(graph.layout(), Cpu());
  Initialize(params, job.seed(), KernelThreads());
  if (!checkpoint.empty()) Checkpoint::Open(checkpoint).Load(params);
  params.Publish();
  LayerStates states = graph.MakeStates();
  Gradients gradients(graph.layout(), Cpu());
  const auto executor =
      FindEntry(executors(), "executor", "single")
          .make(Options(), {.graph = graph, .batch = size, .threads = job.Plan()});
  const std::vector<int64_t> order = Permutation(data.Size(), Random({job.seed(), 1}));
  const auto count =
      static_cast<int>(std::min<int64_t>(kBatches, static_cast<int64_t>(order.size()) / size));
  std::vector<double> sum(dense);
  double squares = 0;  // of the batches' gradients
  Batch batch;
  for (int i = 0; i < count; ++i) {
    data.Read({.examples = std::span(order).subspan(i * size, size), .seed = job.seed()}, batch);
    ParamView view = params.View(&gradients);
    view.states = &states;
    executor->Step(batch, view, {});
    const auto gradient = gradients.dense().Host();
    for (int64_t j = 0; j < dense; ++j) {
      sum[j] += gradient[j];
      squares += static_cast<double>(gradient[j]) * gradient[j];
    }
  }
  if (count < 2) return 0;
  double of_mean = 0;
  for (const double one : sum) of_mean += one * one;
  of_mean /= static_cast<double>(count) * count;
  const double of_small = squares / count;
  const auto small = static_cast<double>(size), big = small * count;
  const double mean = (big * of_mean - small * of_small) / (big - small);  // |G|^2
  const double trace = (of_small - of_mean) / (1 / small - 1 / big);       // tr(S)
  // Where the noise hides the gradient, these batches tell only that the scale is larger than all.
  return mean > of_mean / 10 ? std::max(1.0, trace / mean) : 10 * big;
}

double RelativeExamples(const ExampleUse& used, double batch, double noise,
                        const Efficiency& efficiency) {
  return (noise + used.batch) / (noise + batch) * efficiency.Examples(used);
}

std::vector<MeasuredUse> MeasuredUses(const std::vector<TriedUse>& tried, double noise) {
  const auto synchronous =
      std::ranges::find_if(tried, [](const TriedUse& one) { return one.use.IsSynchronous(); });
  std::vector<MeasuredUse> measured;
  for (const TriedUse& one : tried) {
    if (synchronous == tried.end() || &one == &*synchronous) continue;
    const double ratio = RatioOfExamples(one, *synchronous);
    const double by_batch = RelativeExamples(one.use, synchronous->use.batch, noise, kCostless);
    if (ratio > 0)
      measured.push_back(
          {.use = one.use, .examples = std::clamp(ratio / by_batch, 1 / kMostRatio, kMostRatio)});
  }
  return measured;
}

}  // namespace yoke
