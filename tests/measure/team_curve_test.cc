// CurveOfTeams: growth by examples a second, without updates; the file of such a machine.
#include "measure/growth.h"

#include <gtest/gtest.h>

#include <fstream>

#include "measure/cluster_file.h"
#include "measure/cluster_writer.h"

namespace yoke::team_curve_test {

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

}  // namespace yoke::team_curve_test
