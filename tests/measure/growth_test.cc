// MeasureGrowth: a step's times add up, and products are divided among the threads of a team; the
// curve of a machine of teams.
#include "measure/growth.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "base/registry.h"
#include "kernels/support/threads.h"
#include "measure/cluster_file.h"
#include "measure/cluster_writer.h"

namespace yoke::growth_test {

/// A step with one region of two threads.
StepRecord StepOf(double a, double b) { return {{{"", "", "Region"}, {{{{a}, {b}}}}}}; }

/// A thread that was slow once is noise; one that has more to do each time is not.
TEST(UsualSteps, TakeMediansOfEachThread) {
  const StepTimes usual = UsualStep({StepOf(1, 2), StepOf(9, 2), StepOf(1, 9)});
  const WorkTimes& times = usual.at({"", "", "Region"});
  EXPECT_EQ(times.span, 2);
  EXPECT_EQ(times.busy, 3);
  EXPECT_EQ(times.meetings, 1);
}

TEST(UsualSteps, CountWhatFewStepsDoByItsMean) {
  StepRecord more = StepOf(1, 1);
  more[{"", "", "Rebuild"}] = {{{{4}}}};
  const StepRecord one = StepOf(1, 1);
  EXPECT_EQ(UsualStep({one, one, more, one}).at({"", "", "Rebuild"}).span, 1);
}

/// Of the runs of a region only those are compared that fell alike.
TEST(UsualSteps, OfOneShape) {
  const StepRecord one = {{{"", "", "Region"}, {{{{7}}}}}};
  EXPECT_EQ(UsualStep({StepOf(1, 2), one, StepOf(1, 2)}).at({"", "", "Region"}).span, 2);
}

TEST(Growth, OfAStepAddsUp) {
  if (const Threads four{4}; four.team() < 4) GTEST_SKIP() << "the environment limits teams";
  const Threads one{1};
  const DataSets data =
      OpenData(Table{{"format", "synthetic-digits"}, {"train_size", 1024}, {"test_size", 20}}, 1);
  const Graph graph = BuildModel(Table{{"name", "mlp"}, {"widths", List{1024, 1024}}},
                                 {.input = {.shape = {1, 28, 28}}, .outputs = 10});
  const RuleEntry& entry = FindEntry(rules(), "rule", "sgd");
  const std::unique_ptr<UpdateRule> rule = entry.make(Options("train", Table{}, entry.options));
  const Options node;
  const Growth growth = MeasureGrowth(
      [&](int threads) {
        return ProfileRequest{.graph = graph,
                              .rule = *rule,
                              .executor = FindEntry(executors(), "executor", "single"),
                              .node = node,
                              .data = *data.train,
                              .batch = 512,
                              .threads = {.threads = threads},
                              .learning_rate = 0.01};
      },
      {1, 4}, 0.5);
  ASSERT_EQ(growth.points.size(), 2);
  EXPECT_EQ(growth.batch, 512);
  for (const GrowthPoint& point : growth.points) {
    EXPECT_DOUBLE_EQ(point.seconds, point.alone + point.regions + point.meetings);
    EXPECT_GE(point.steps, 2);  // of one visit
  }
  const GrowthPoint &alone = growth.points[0], &four = growth.points[1];
  EXPECT_EQ(alone.meetings, 0);
  EXPECT_NEAR(alone.busy, alone.seconds, 0.2 * alone.seconds);
  EXPECT_LT(four.seconds, 0.6 * alone.seconds);  // of a quarter
  EXPECT_GT(four.seconds, 0.15 * alone.seconds);
}

/// A step with so many seconds in passes, without regions, and a second of update.
Growth Team(int threads, int64_t batch, double seconds) {
  return {.batch = batch,
          .pass = {.operations = 100.0 * static_cast<double>(batch)},
          .points = {{.threads = threads,
                      .work = {{{"fc", "forward", ""}, {.span = seconds / 2}},
                               {{"fc", "backward", "f"}, {.span = seconds / 2}},
                               {{"", "update", ""}, {.span = 1}}}}}};
}

SpeedCurve Curve() {
  return CurveOfTeams({Team(1, 4, 2), Team(4, 16, 4), Team(16, 64, 8)},
                      {.nodes = 2, .bytes_per_second = 1e11});
}

TEST(TeamCurve, GrowsByExamplesASecond) {
  const SpeedCurve curve = Curve();
  EXPECT_EQ(curve.threads, 16);
  EXPECT_EQ(curve.growth, (std::map<int, double>{{1, 1}, {4, 2}, {16, 4}}));
  EXPECT_DOUBLE_EQ(curve.Seconds({.operations = 6400}, {.examples = 64}), 8);
  EXPECT_EQ(curve.memory_nodes, 2);
  EXPECT_EQ(curve.far_bytes_per_second, 5e10);
}

TEST(TeamCurve, PartsOfABatchHaveAnExample) {
  EXPECT_EQ(BatchOfTeam(64, 4, 16), 16);
  EXPECT_EQ(BatchOfTeam(64, 16, 16), 64);
  EXPECT_EQ(BatchOfTeam(8, 1, 16), 1);
}

TEST(TeamCurve, ItsFileIsReadBack) {
  const std::string path = testing::TempDir() + "/yoke-computed.toml";
  std::ofstream(path) << FormatCluster({.title = "16 cores",
                                        .nodes = {{.host = "16 cores",
                                                   .cpu = "A CPU",
                                                   .profile = {.threads = 16, .curve = Curve()},
                                                   .computed = "Computed\nfrom few."}},
                                        .network = {.latency = 1e-6, .bytes_per_second = 1e9}});
  const ClusterFile file = ReadCluster(path);
  EXPECT_EQ(file.Ranks(), 1);
  EXPECT_EQ(file.kinds[0].threads, 16);
  const SpeedCurve& curve = file.kinds[0].curves.at("");
  EXPECT_EQ(curve.growth, Curve().growth);
  EXPECT_EQ(curve.operations_per_second, Curve().operations_per_second);
  EXPECT_EQ(curve.memory_nodes, 2);
  EXPECT_EQ(curve.far_bytes_per_second, 5e10);
  EXPECT_EQ(curve.title, "A CPU, 16 threads");
}

}  // namespace yoke::growth_test
