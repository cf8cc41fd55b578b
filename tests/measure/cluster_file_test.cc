// ClusterFile: files that are read, the cluster they make, and files that are refused.
#include "measure/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/check.h"

namespace yoke::cluster_file_test {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kNode = R"([[nodes]]
count = 4
operations_per_second = 1e9
bytes_per_second = 1e8
)";
constexpr const char* kNetwork = R"([network]
latency = 1e-3
bytes_per_second = 1e6
)";

std::string Path() { return testing::TempDir() + "/yoke-cluster.toml"; }

ClusterFile Read(const std::string& text) {
  std::ofstream(Path()) << text;
  return ReadCluster(Path());
}

std::string Refusal(const std::string& text) {
  try {
    Read(text);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

/// Seconds of 1e9 operations on each rank.
std::vector<double> Seconds(const SimulatedRanks& cluster, const WorkPlace& place = {}) {
  std::vector<double> seconds;
  seconds.reserve(cluster.ranks);
  for (int rank = 0; rank < cluster.ranks; ++rank)
    seconds.push_back(place.examples > 0 ? cluster.devices(rank, {.operations = 1e9}, place)
                                         : cluster.service(rank, {.operations = 1e9}));
  return seconds;
}

TEST(ClusterFile, EqualNodes) {
  const ClusterFile file = Read("title = \"Four\"\nsource = \"Made up\"\n" + std::string(kNode) +
                                "price_per_hour = 0.25\n" + kNetwork);
  EXPECT_EQ(file.title, "Four");
  EXPECT_EQ(file.Nodes(), 4);
  EXPECT_EQ(file.PricePerHour(), 1);
  const SimulatedRanks cluster = file.Simulated(1);
  EXPECT_EQ(cluster.ranks, 4);
  EXPECT_EQ(cluster.Nodes(), 4);
  EXPECT_EQ(cluster.latency, 1e-3);
  EXPECT_EQ(cluster.NodeAt(3).bytes_per_second, 1e6);
  EXPECT_EQ(cluster.NodeAt(3).cores, 0);
  EXPECT_TRUE(cluster.groups.empty());
  EXPECT_EQ(Seconds(cluster), std::vector<double>(4, 1));
  EXPECT_EQ(Seconds(cluster, {.examples = 8}), std::vector<double>(4, 1));
  EXPECT_EQ(Seconds(cluster, {.examples = 8, .threads = 3}), std::vector<double>(4, 3));
  EXPECT_EQ(cluster.service(0, {.operations = 1e9, .bytes = 1e8}), 2);
  EXPECT_THROW(cluster.devices(0, {}, {.device = "emulated:0", .examples = 1}), UserError);
}

TEST(ClusterFile, UnlikeNodes) {
  const ClusterFile file = Read(std::string(kNode) + R"(ranks = 2
cores = 3
threads = 5
[[nodes]]
operations_per_second = 2e9
bytes_per_second = 1e8
network_bytes_per_second = 5e5
price_per_hour = 1
)" + kNetwork);
  EXPECT_EQ(file.Ranks(), 9);
  EXPECT_EQ(file.PricePerHour(), 1);
  EXPECT_EQ(file.PriceNote(),
            "4 of 5 nodes have no price_per_hour: the cost is that of the others");
  const SimulatedRanks cluster = file.Simulated(1);
  EXPECT_EQ(cluster.node_of, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4}));
  EXPECT_EQ(cluster.NodeAt(0).cores, 3);
  EXPECT_EQ(cluster.NodeAt(0).cpu_threads, 5);
  EXPECT_EQ(cluster.NodeAt(4).bytes_per_second, 5e5);
  EXPECT_EQ(Seconds(cluster), (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 0.5}));
}

TEST(ClusterFile, SlowNodesAreDrawnBySeed) {
  const ClusterFile file = Read(R"([[nodes]]
count = 40
ranks = 2
operations_per_second = 1e9
bytes_per_second = 1e8
slow = { fraction = 0.1, factor = 3 }
)" + std::string(kNetwork));
  const std::vector<double> first = Seconds(file.Simulated(1));
  EXPECT_EQ(std::ranges::count(first, 3), 8);
  EXPECT_EQ(std::ranges::count(first, 1), 72);
  for (size_t rank = 0; rank < first.size(); rank += 2) EXPECT_EQ(first[rank], first[rank + 1]);
  EXPECT_EQ(Seconds(file.Simulated(1)), first);
  EXPECT_NE(Seconds(file.Simulated(2)), first);
}

TEST(ClusterFile, JitterKeepsTheMean) {
  for (const char* jitter : {"{ kind = \"exponential\" }", "{ kind = \"lognormal\", sigma = 0.5 }",
                             "{ kind = \"constant\" }"}) {
    const ClusterFile file =
        Read(std::string(kNode) + "jitter = " + jitter + "\n" + std::string(kNetwork));
    const SimulatedRanks cluster = file.Simulated(1), again = file.Simulated(1);
    double sum = 0, squares = 0;
    for (int i = 0; i < 20000; ++i) {
      const double seconds = cluster.service(0, {.operations = 1e9});
      EXPECT_EQ(seconds, again.service(0, {.operations = 1e9}));
      sum += seconds / 20000;
      squares += seconds * seconds / 20000;
    }
    EXPECT_NEAR(sum, 1, 0.03) << jitter;
    const bool constant = std::string(jitter).find("constant") != std::string::npos;
    EXPECT_EQ(squares > sum * sum + 0.1, !constant) << jitter;
  }
}

TEST(ClusterFile, CurvesTimePassesByTheirBatch) {
  std::ofstream(testing::TempDir() + "/yoke-gpu.toml") << R"(title = "A device"
source = "Made up"
operations_per_second = 1e9
half_batch = 10
bytes_per_second = 2e8
)";
  std::ofstream(testing::TempDir() + "/yoke-cpu.toml") << R"(title = "A CPU"
source = "Made up"
operations_per_second = 1e8
bytes_per_second = 2e8
threads = 4
)";
  const SimulatedRanks one =
      Read("[[nodes]]\ncurve = \"yoke-gpu.toml\"\n" + std::string(kNetwork)).Simulated(1);
  EXPECT_DOUBLE_EQ(Seconds(one, {.examples = 10})[0], 2);
  EXPECT_DOUBLE_EQ(Seconds(one, {.device = "emulated:0", .examples = 30})[0], 4.0 / 3);
  EXPECT_NEAR(Seconds(one)[0], 1, 1e-6);  // arithmetic on values fills the device
  const SimulatedRanks two = Read(
                                 "[[nodes]]\ncurves = { cpu = \"yoke-cpu.toml\", \"emulated:0\" = "
                                 "\"yoke-gpu.toml\" }\n" +
                                 std::string(kNetwork))
                                 .Simulated(1);
  EXPECT_EQ(two.NodeAt(0).cpu_threads, 4);
  EXPECT_DOUBLE_EQ(Seconds(two, {.device = "emulated:0", .examples = 10})[0], 2);
  EXPECT_DOUBLE_EQ(Seconds(two, {.examples = 40})[0], 10);
  EXPECT_THROW(Seconds(two, {.device = "emulated:1", .examples = 10}), UserError);
}

TEST(ClusterFile, ACurveMayStandInTheFile) {
  const SimulatedRanks cluster = Read(R"([[nodes]]
[nodes.curve]
title = "A device"
source = "Made up"
operations_per_second = 1e9
half_batch = 10
bytes_per_second = 2e8
threads = 2
)" + std::string(kNetwork))
                                     .Simulated(1);
  EXPECT_EQ(cluster.NodeAt(0).cpu_threads, 2);
  EXPECT_DOUBLE_EQ(Seconds(cluster, {.examples = 20})[0], 2);
  EXPECT_THAT(Refusal("[[nodes]]\ncurve = { title = \"a\", source = \"b\", launch = 1 }\n" +
                      std::string(kNetwork)),
              HasSubstr(":2: unknown key 'nodes.curve.launch'; did you mean 'launch_seconds'?"));
  EXPECT_THAT(Refusal("[[nodes]]\ncurve = 5\n" + std::string(kNetwork)),
              HasSubstr(":2: nodes.curve: expected"));
}

TEST(ClusterFile, RacksAndRegions) {
  const ClusterFile file = Read(std::string(kNode) + kNetwork +
                                "racks = { nodes = 3, oversubscription = 2 }\n"
                                "regions = { nodes = [3, 1], latency = 0.04, "
                                "bytes_per_second = 1e5 }\n");
  ASSERT_EQ(file.groups.size(), 2U);
  EXPECT_EQ(file.groups[0].group_of, (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(file.groups[0].bytes_per_second, (std::vector<double>{1.5e6, 5e5}));
  EXPECT_EQ(file.groups[0].latency, 0);
  EXPECT_EQ(file.groups[1].group_of, (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(file.groups[1].bytes_per_second, (std::vector<double>{1e5, 1e5}));
  EXPECT_EQ(file.groups[1].latency, 0.04);
  const ClusterFile uplink = Read(std::string(kNode) + kNetwork +
                                  "racks = { nodes = 2, uplink_bytes_per_second = 7e5 }\n");
  EXPECT_EQ(uplink.groups[0].bytes_per_second, (std::vector<double>{7e5, 7e5}));
}

TEST(ClusterFile, FailuresAreDrawnBySeed) {
  const ClusterFile file = Read(R"([[nodes]]
count = 2000
operations_per_second = 1e9
bytes_per_second = 1e8
[[nodes]]
operations_per_second = 1e9
bytes_per_second = 1e8
mean_time_between = 1e-9
)" + std::string(kNetwork) + "[failures]\nmean_time_between = 600\nrestart = 3\n");
  const SimulatedFailures first = file.Simulated(1).failures, again = file.Simulated(1).failures;
  EXPECT_EQ(first.detection, 5);
  EXPECT_EQ(first.restart, 3);
  EXPECT_FALSE(first.replace);
  double sum = 0;
  for (int node = 0; node < 2000; ++node) {
    sum += first.death(node, 0, 0) / 2000;
    EXPECT_EQ(first.death(node, 0, 0), again.death(node, 0, 0));
    EXPECT_NE(first.death(node, 1, 0), first.death(node, 0, 0));
  }
  EXPECT_NEAR(sum, 600, 40);
  EXPECT_LT(first.death(2000, 0, 0), 1e-6);  // this kind's own key
  EXPECT_NE(file.Simulated(2).failures.death(0, 0, 0), first.death(0, 0, 0));
}

TEST(ClusterFile, FailuresAtStatedTimes) {
  const std::string cluster = std::string(kNode) + kNetwork;
  EXPECT_FALSE(Read(cluster).Simulated(1).failures.death);
  EXPECT_FALSE(Read(cluster + "[failures]\n").Simulated(1).failures.death);
  const ClusterFile file = Read(cluster + R"([failures]
at = [{ node = 3, seconds = 120.0 }, { node = 3, seconds = 50 }, { node = 1, seconds = 0 }]
recovery = "restart"
restart = 1
replacement = 30
detection = 2
checkpoint_bytes_per_second = 1e8
)");
  EXPECT_EQ(file.failures.checkpoint_bytes_per_second, 1e8);
  const SimulatedFailures failures = file.Simulated(1).failures;
  EXPECT_EQ(failures.detection, 2);
  EXPECT_EQ(failures.restart, 31);
  EXPECT_TRUE(failures.replace);
  EXPECT_EQ(failures.death(1, 0, 0), 0);
  EXPECT_EQ(failures.death(3, 0, 0), 50);
  EXPECT_EQ(failures.death(3, 1, 83), 120);
  EXPECT_EQ(failures.death(0, 0, 0), failures.death(3, 2, 153));  // never
}

TEST(ClusterFile, RefusesFailuresBySayingWhereAndWhy) {
  const auto with = [](const std::string& line) {
    return Refusal(std::string(kNode) + kNetwork + "[failures]\n" + line + "\n");
  };
  EXPECT_THAT(with("mean_time = 5"),
              HasSubstr(":9: unknown key 'failures.mean_time'; did you mean 'mean_time_between'?"));
  EXPECT_THAT(with("mean_time_between = 0"),
              HasSubstr("failures.mean_time_between: expected above 0"));
  EXPECT_THAT(with("detection = -1"), HasSubstr("failures.detection: expected at least 0"));
  EXPECT_THAT(with("recovery = \"survivor\""),
              AllOf(HasSubstr(":9: failures.recovery: unknown value 'survivor'"),
                    HasSubstr("did you mean 'survivors'?")));
  EXPECT_THAT(with("replacement = 60"),
              HasSubstr(":9: failures.replacement: belongs to recovery = \"restart\""));
  EXPECT_THAT(with("at = [{ node = 4, seconds = 1 }]"),
              HasSubstr(":9: failures.at.node: expected at least 0 and at most 3, got 4"));
  EXPECT_THAT(with("at = [{ node = 1 }]"), HasSubstr("failures.at: the key 'seconds' is missing"));
  EXPECT_THAT(with("at = 5"), HasSubstr(":9: failures.at: expected a list of tables"));
  EXPECT_THAT(with("checkpoint_bytes_per_second = 0"),
              HasSubstr("failures.checkpoint_bytes_per_second: expected at least 1"));
}

TEST(ClusterFile, TheExamplesAreRead) {
  for (const char* name : {"rack-10gbit", "easgd-knl", "easgd-fdr", "spot-wan", "lab-desktops"}) {
    const ClusterFile file = ReadCluster(std::string("examples/clusters/") + name + ".toml");
    EXPECT_FALSE(file.title.empty()) << name;
    EXPECT_GT(file.Simulated(1).service(0, {.operations = 1e9}), 0) << name;
  }
}

TEST(ClusterFile, RefusesAFileBySayingWhereAndWhy) {
  const std::string node = kNode, network = kNetwork, path = Path();
  EXPECT_EQ(Refusal(""), path + ": cluster: the key 'nodes' is missing: The nodes, as [[nodes]].");
  EXPECT_EQ(Refusal(node),
            path + ": cluster: the key 'network' is missing: The network, as [network].");
  EXPECT_EQ(Refusal("nodes = []\n" + network),
            path + ":1: cluster.nodes: the list of nodes is empty");
  EXPECT_EQ(Refusal("[nodes]\ncount = 2\n" + network),
            path + ":1: expected [[nodes]] in double brackets, got [nodes]");
  EXPECT_THAT(Refusal("nods = 1\n" + node + network),
              HasSubstr(":1: unknown key 'cluster.nods'; did you mean 'nodes'?"));
  EXPECT_THAT(Refusal(node + "[network]\nlatncy = 1\nbytes_per_second = 1\n"),
              HasSubstr(":6: unknown key 'network.latncy'; did you mean 'latency'?"));
  EXPECT_EQ(Refusal(node + "[network]\nlatency = 1\n"),
            path +
                ":5: network: the key 'bytes_per_second' is missing: Of a node's card, in each "
                "direction.");
  EXPECT_EQ(Refusal(node + "[network]\nlatency = \"fast\"\nbytes_per_second = 1\n"),
            path + ":6: network.latency: expected a number, got \"fast\"");
  EXPECT_THAT(Refusal(node + "[network]\nlatency = -1\nbytes_per_second = 1\n"),
              HasSubstr("network.latency: expected at least 0"));
  EXPECT_THAT(Refusal(node + "[network]\nlatency = 1\nbytes_per_second = 0\n"),
              HasSubstr("network.bytes_per_second: expected at least 1"));
}

TEST(ClusterFile, RefusesNodesBySayingWhereAndWhy) {
  const std::string node = kNode, network = kNetwork;
  const auto with = [&](const std::string& line) { return Refusal(node + line + "\n" + network); };
  EXPECT_THAT(Refusal("[[nodes]]\ncount = 2\noperations_per_second = 1\n" + network),
              HasSubstr(":1: nodes: the key 'bytes_per_second' is missing"));
  EXPECT_THAT(Refusal("[[nodes]]\ncount = 0\n" + network),
              HasSubstr(":2: nodes.count: expected at least 1 and at most 1000000, got 0"));
  EXPECT_THAT(Refusal("[[nodes]]\ncount = 2.5\n" + network),
              HasSubstr(":2: nodes.count: expected a whole number, got 2.5"));
  EXPECT_THAT(with("[[nodes]]\ncount = 1000000\noperations_per_second=1\nbytes_per_second = 1"),
              HasSubstr(":5: nodes: expected at most 1000000 replicas in all, got 1000004"));
  EXPECT_THAT(with("jiter = { kind = \"exponential\" }"),
              HasSubstr(":5: unknown key 'nodes.jiter'; did you mean 'jitter'?"));
  EXPECT_THAT(with("jitter = \"exponential\""), HasSubstr(":5: nodes.jitter: expected a table"));
  EXPECT_THAT(with("jitter = { kind = \"exponental\" }"),
              AllOf(HasSubstr(":5: nodes.jitter.kind: unknown value 'exponental'"),
                    HasSubstr("did you mean 'exponential'?")));
  EXPECT_THAT(with("jitter = { kind = \"lognormal\" }"),
              HasSubstr(":5: nodes.jitter.kind: lognormal needs a sigma"));
  EXPECT_THAT(with("jitter = { kind = \"exponential\", sigma = 2 }"),
              HasSubstr(":5: nodes.jitter.sigma: belongs to lognormal"));
  EXPECT_THAT(with("slow = { fraction = 2, factor = 2 }"),
              HasSubstr("nodes.slow.fraction: expected at least 0 and at most 1, got 2"));
  EXPECT_THAT(with("slow = { fraction = 0.5 }"),
              HasSubstr("nodes.slow: the key 'factor' is missing"));
  EXPECT_THAT(with("curve = \"a.toml\""),
              HasSubstr(":3: nodes.operations_per_second: the node has a curve"));
  EXPECT_THAT(Refusal("[[nodes]]\ncurve = \"absent.toml\"\n" + network), HasSubstr("absent.toml"));
  EXPECT_THAT(Refusal("[[nodes]]\ncurves = { cpu = 1 }\n" + network),
              HasSubstr(":2: nodes.curves.cpu: expected a path in quotes, got 1"));
}

TEST(ClusterFile, RefusesGroupsBySayingWhereAndWhy) {
  const auto with = [](const std::string& line) {
    return Refusal(std::string(kNode) + kNetwork + line + "\n");
  };
  EXPECT_THAT(with("racks = { nodes = 2 }"),
              HasSubstr(":8: network.racks: expected either uplink_bytes_per_second or "
                        "oversubscription"));
  EXPECT_THAT(with("racks = { oversubscription = 2 }"),
              HasSubstr("network.racks: the key 'nodes' is missing"));
  EXPECT_THAT(with("racks = { nodes = [3, 2], oversubscription = 2 }"),
              HasSubstr(":8: network.racks.nodes: the groups [3, 2] have not as many nodes as the "
                        "cluster, 4"));
  EXPECT_THAT(with("racks = { nodes = 0, oversubscription = 2 }"),
              HasSubstr("network.racks.nodes: expected at least 1"));
  EXPECT_THAT(with("regions = { nodes = 2, bytes_per_second = 1 }"),
              HasSubstr("network.regions: the key 'latency' is missing"));
  EXPECT_THAT(with("racks = { nodes = 3, oversubscription = 2 }\n"
                   "regions = { nodes = 2, bytes_per_second = 1, latency = 1 }"),
              HasSubstr(":8: network.racks: expected racks inside one region each, but nodes 1 and "
                        "2 (from 0)"));
  EXPECT_THAT(with("fair_links = true\nracks = { nodes = 2, oversubscription = 2 }"),
              HasSubstr(":8: network.fair_links: shares the cards of equal nodes only"));
}

}  // namespace yoke::cluster_file_test
