// Statistics: the noise scale against single examples' gradients, and what each use costs.
#include "plan/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/registry.h"
#include "node/executor.h"
#include "plan/support/small_job.h"
#include "train/job/parts.h"

namespace yoke::statistics_test {

using test::SmallJob;

TEST(RelativeExamples, SynchronousIsOne) {
  EXPECT_EQ(RelativeExamples({.batch = 64}, 64, 100), 1);
  EXPECT_EQ(RelativeExamples({.batch = 64}, 64, 0), 1);
}

TEST(RelativeExamples, SmallBatchesNeedFewer) {
  EXPECT_DOUBLE_EQ(RelativeExamples({.batch = 16}, 64, 100), 116.0 / 164);
  EXPECT_GT(RelativeExamples({.batch = 256}, 64, 100), 2);
  EXPECT_NEAR(RelativeExamples({.batch = 16}, 64, 1e9), 1, 1e-6);
}

TEST(RelativeExamples, StalenessAndIntervalsNeedMore) {
  const auto of = [](double staleness, double interval) {
    return RelativeExamples({.batch = 64, .staleness = staleness, .interval = interval}, 64, 100);
  };
  EXPECT_GT(of(1, 1), 1);
  EXPECT_GT(of(3, 1), of(1, 1));
  EXPECT_GT(of(0, 8), 1);
  EXPECT_GT(of(0, 32), of(0, 8));
  EXPECT_GT(of(3, 8), of(3, 1));
  EXPECT_EQ(of(0, 0.5), 1);
}

/// tr(S) / |G|^2 of the gradients of single examples at the initial weights.
double OfSingleExamples(const Job& job, const Reader& data) {
  const Graph graph = BuildModel(job.model(), TaskOf(data.Info()));
  ParamStore params(graph.layout(), Cpu());
  Initialize(params, job.seed(), 1);
  params.Publish();
  LayerStates states = graph.MakeStates();
  Gradients gradients(graph.layout(), Cpu());
  const auto executor = FindEntry(executors(), "executor", "single")
                            .make(Options(), {.graph = graph, .batch = 1, .threads = job.Plan()});
  std::vector<double> sum(graph.layout().dense_size());
  double squares = 0;
  Batch batch;
  for (int64_t i = 0; i < data.Size(); ++i) {
    data.Read({.examples = std::span(&i, 1), .seed = job.seed()}, batch);
    ParamView view = params.View(&gradients);
    view.states = &states;
    executor->Step(batch, view, {});
    for (size_t j = 0; j < sum.size(); ++j) {
      const double g = gradients.dense().Host()[j];
      sum[j] += g;
      squares += g * g;
    }
  }
  const auto n = static_cast<double>(data.Size());
  const double of_mean = std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0) / (n * n);
  const double trace = (squares - n * of_mean) / (n - 1);
  return trace / (of_mean - trace / n);
}

TEST(NoiseScale, IsThatOfSingleExamples) {
  const Job job = SmallJob({{"train.batch", "32"}, {"data.train_size", "512"}});
  const DataSets data = OpenData(job.data(), job.seed());
  const double noise = MeasureNoiseScale(job, *data.train, "");
  EXPECT_NEAR(noise / OfSingleExamples(job, *data.train), 1, 0.3);
  EXPECT_EQ(MeasureNoiseScale(job, *data.train, ""), noise);
}

TEST(NoiseScale, IsUnknownForOneExample) {
  const Job job = SmallJob();
  const DataSets data = OpenData(job.data(), job.seed());
  EXPECT_EQ(MeasureNoiseScale(job, *Subset(data.train, {0}), ""), 0);
}

}  // namespace yoke::statistics_test
