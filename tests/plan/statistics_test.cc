// Statistics: the noise scale against single examples' gradients, what each use costs, and what
// trials with known curves tell.
#include "plan/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
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

constexpr double kNoise = 100;
const ExampleUse kAllReduce = {.batch = 64};

/// A loss that falls from 2 as exp(-examples / (1000 x ratio)), in so many points of 100 examples.
TriedUse Tried(const ExampleUse& use, double ratio, int points = 20) {
  TriedUse tried = {.use = use, .first_loss = 2};
  for (int i = 1; i <= points; ++i)
    tried.curve.push_back(
        {.seconds = 0.1 * i, .examples = 100.0 * i, .loss = 2 * std::exp(-0.1 * i / ratio)});
  return tried;
}

std::vector<double> RatiosOf(const std::vector<TriedUse>& tried) {
  std::vector<double> ratios;
  for (const MeasuredUse& one : MeasuredUses(tried, kNoise)) ratios.push_back(one.examples);
  return ratios;
}

TEST(MeasuredUses, AreBesideSynchronousUpdates) {
  const ExampleUse late = {.batch = 64, .staleness = 7};
  const auto measured = MeasuredUses({Tried(late, 1.5), Tried(kAllReduce, 1)}, kNoise);
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].use.staleness, 7);
  EXPECT_NEAR(measured[0].examples, 1.5, 0.1);
}

/// Gossip exchanges in every step, but with one other.
TEST(MeasuredUses, GossipIsNotSynchronous) {
  const ExampleUse gossip = {.batch = 64, .interval = 1, .mixing = 0.125};
  ASSERT_FALSE(gossip.IsSynchronous());
  const auto measured = MeasuredUses({Tried(gossip, 1.5), Tried(kAllReduce, 1)}, kNoise);
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].use.mixing, 0.125);
  EXPECT_NEAR(measured[0].examples, 1.5, 0.1);
  const ExampleUse late = {.batch = 64, .staleness = 7};
  EXPECT_TRUE(RatiosOf({Tried(gossip, 1.5), Tried(late, 1)}).empty());
}

/// Smaller batches need fewer examples, whatever else they are.
TEST(MeasuredUses, TheBatchesPartIsNotTheirs) {
  const double by_batch = (kNoise + 16) / (kNoise + 64);
  const ExampleUse small = {.batch = 16, .staleness = 3};
  const auto ratios = RatiosOf({Tried(kAllReduce, 1), Tried(small, by_batch)});
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_NEAR(ratios[0], 1, 0.07);
}

TEST(MeasuredUses, TrialsThatHaveNotLearnedTellNothing) {
  const ExampleUse late = {.batch = 64, .staleness = 7};
  EXPECT_TRUE(RatiosOf({Tried(kAllReduce, 1), Tried(late, 1000)}).empty());
  TriedUse trained = Tried(kAllReduce, 1);  // from a checkpoint with the loss it still has
  trained.first_loss = trained.curve.back().loss;
  EXPECT_TRUE(RatiosOf({trained, Tried(late, 1.5)}).empty());
}

TEST(MeasuredUses, LossesOfTheStartTellNothing) {
  const ExampleUse late = {.batch = 64, .staleness = 7};
  EXPECT_TRUE(RatiosOf({Tried(kAllReduce, 1, 50), Tried(late, 20, 50)}).empty());
  EXPECT_EQ(RatiosOf({Tried(kAllReduce, 1, 50), Tried(late, 3, 50)}).size(), 1U);
}

}  // namespace yoke::statistics_test
