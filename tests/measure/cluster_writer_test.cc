// FormatCluster: the text is read back as what was measured.
#include "measure/cluster_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "measure/cluster_file.h"

namespace yoke::cluster_writer_test {

using testing::HasSubstr;
using testing::Not;

MeasuredNode Node(const std::string& host, int ranks, double sigma) {
  return {.host = host,
          .cpu = "A \"fast\" CPU\\",
          .ranks = ranks,
          .usable_cores = 8,
          .profile = {.steps = {{.batch = 16, .seconds = 0.002, .sigma = sigma, .steps = 100}},
                      .step = {.batch = 16, .seconds = 0.002, .sigma = sigma, .steps = 100},
                      .update_seconds = 1e-4,
                      .bytes_per_second = 2e10,
                      .threads = 2,
                      .curve = {.operations_per_second = 1.234e11,
                                .bytes_per_second = 2e10,
                                .launch_seconds = 1.5e-5,
                                .threads = 2}}};
}

MeasuredCluster Cluster() {
  return {.title = "Two machines",
          .command = "yoke simulate \"a\nb.toml\"",
          .when = "2026-11-24 10:15",
          .subject = "b: batch 16",
          .nodes = {Node("first", 3, 0.05), Node("second", 1, 0.002)},
          .network = {.measured = true,
                      .latency = 2e-6,
                      .bytes_per_second = 3e9,
                      .copy_bytes_per_second = 6e9,
                      .polling = 0.125,
                      .source = "Between processes."}};
}

ClusterFile ReadBack(const MeasuredCluster& cluster) {
  const std::string path = testing::TempDir() + "/yoke-written.toml";
  std::ofstream(path) << FormatCluster(cluster);
  return ReadCluster(path);
}

TEST(ClusterWriter, IsReadBack) {
  const ClusterFile file = ReadBack(Cluster());
  EXPECT_EQ(file.title, "Two machines");
  EXPECT_EQ(file.Nodes(), 2);
  EXPECT_EQ(file.Ranks(), 4);
  EXPECT_EQ(file.latency, 2e-6);
  EXPECT_EQ(file.copy_bytes_per_second, 6e9);
  EXPECT_EQ(file.polling, 0.125);
  EXPECT_EQ(file.Simulated(1).polling, 0.125);
  const NodeKind& first = file.kinds[0];
  EXPECT_EQ(first.ranks, 3);
  EXPECT_EQ(first.cores, 4);  // 8 cores, 2 threads a replica
  EXPECT_EQ(first.threads, 2);
  EXPECT_EQ(first.jitter, "lognormal");
  EXPECT_EQ(first.sigma, 0.05);
  EXPECT_EQ(first.network_bytes_per_second, 3e9);
  EXPECT_EQ(file.kinds[1].sigma, 0.002);
  const SpeedCurve& curve = first.curves.at("");
  EXPECT_EQ(curve.operations_per_second, 1.234e11);
  EXPECT_EQ(curve.bytes_per_second, 2e10);
  EXPECT_EQ(curve.launch_seconds, 1.5e-5);
  EXPECT_EQ(curve.threads, 2);
  EXPECT_EQ(curve.title, "A \"fast\" CPU\\, 2 threads");
}

TEST(ClusterWriter, ThreadsThatWorkApartHaveAllCores) {
  MeasuredCluster cluster = Cluster();
  cluster.nodes[0].threads_apart = true;
  EXPECT_EQ(ReadBack(cluster).kinds[0].cores, 8);
  cluster.nodes[0].threads_apart = false;
  cluster.nodes[0].usable_cores = 1;
  EXPECT_EQ(ReadBack(cluster).kinds[0].cores, 1);
}

TEST(ClusterWriter, SaysWhatIsAssumed) {
  MeasuredCluster cluster = Cluster();
  EXPECT_THAT(FormatCluster(cluster), Not(HasSubstr("assumed")));
  cluster.network.measured = false;
  cluster.network.copy_bytes_per_second = 0;
  EXPECT_THAT(FormatCluster(cluster), HasSubstr("latency = 2e-06  # assumed: edit it"));
  EXPECT_THAT(FormatCluster(cluster), Not(HasSubstr("copy_bytes_per_second")));
  EXPECT_GT(ReadBack(cluster).copy_bytes_per_second, 1e17);
}

}  // namespace yoke::cluster_writer_test
