// What is measured, where the network's speed is known; and what the sentence makes of it.
#include "comm/network_benchmark.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "comm/simulated.h"
#include "comm/support/worlds.h"

namespace yoke::network_test {

using testing::HasSubstr;

NetworkReport Measured(const SimulatedRanks& ranks, const NetworkProbe& probe) {
  NetworkReport found;
  Simulate(ranks, [&](const Communicator& world) {
    const NetworkReport report = MeasureNetwork(world, probe);
    if (world.rank() == 0) found = report;
  });
  return found;
}

const CollectiveSpeed& Find(const NetworkReport& report, std::string_view name) {
  for (const CollectiveSpeed& one : report.collectives)
    if (one.name == name) return one;
  throw Error("not measured: " + std::string(name));
}

TEST(Network, MeasuresTheLatencyAndBandwidthOfEachPair) {
  const NetworkReport report =
      Measured({.ranks = 3, .latency = 1e-3, .bytes_per_second = 1e9},
               {.long_message = 1'000'000, .lengths = {4000}, .seconds = 0.1});
  ASSERT_EQ(report.pairs.size(), 3);
  for (const PairSpeed& pair : report.pairs) {
    EXPECT_NEAR(pair.latency, 1e-3, 1e-9);
    EXPECT_NEAR(pair.bytes_per_second, 1e6 / 2e-3, 1);  // latency takes half of the time
  }
  EXPECT_EQ(report.pairs[2].first, 1);
  EXPECT_EQ(report.pairs[2].second, 2);
}

TEST(Network, DoesNotCountTheTimeBetweenMessages) {
  const NetworkReport report = Measured(
      {.ranks = 2, .latency = 1e-3, .bytes_per_second = 1e9},
      {.long_message = 1'000'000, .lengths = {}, .seconds = 0.1, .touched_between = 1 << 16});
  ASSERT_EQ(report.pairs.size(), 1);
  EXPECT_NEAR(report.pairs[0].bytes_per_second, 1e6 / 2e-3, 1);
}

TEST(Network, TellsAlgorithmAndBusBandwidthApart) {
  constexpr int64_t kBytes = 400'000;
  const NetworkReport report =
      Measured({.ranks = 4, .latency = 1e-7, .bytes_per_second = 1e9},
               {.long_message = 1000, .lengths = {kBytes}, .seconds = 0.01});
  // 2 (P - 1) / P of the bytes pass each link of a ring, at the speed of the network.
  const CollectiveSpeed& ring = Find(report, "all-reduce, ring");
  EXPECT_NEAR(ring.bus_bandwidth, 1e9, 0.02e9);
  EXPECT_NEAR(ring.algorithm_bandwidth, 1e9 / 1.5, 0.02e9);
  const CollectiveSpeed& gather = Find(report, "all-gather");
  EXPECT_NEAR(gather.bus_bandwidth, 1e9, 0.02e9);
  EXPECT_NEAR(gather.seconds, kBytes * 0.75 / 1e9, 1e-5);
  // A broadcast's root does not run ahead: log2 P steps.
  EXPECT_NEAR(Find(report, "broadcast").seconds, 2 * kBytes / 1e9, 2e-5);
}

TEST(Network, MeasuresInEveryWorld) {
  for (const WorldKind& kind : WorldKinds())
    kind.run(2, 20, [](const Communicator& world) {
      const NetworkReport report =
          MeasureNetwork(world, {.long_message = 10000, .lengths = {1000}, .seconds = 1e-3});
      ASSERT_EQ(report.pairs.size(), 1);
      EXPECT_GT(report.pairs[0].latency, 0);
      EXPECT_GT(report.pairs[0].bytes_per_second, 0);
      for (const CollectiveSpeed& one : report.collectives) EXPECT_GT(one.seconds, 0) << one.name;
    });
}

NetworkReport Pairs(int ranks, double latency, double speed) {
  NetworkReport report{.ranks = ranks};
  for (int i = 0; i < ranks; ++i) {
    report.machines.push_back("node" + std::to_string(i));
    for (int j = 0; j < i; ++j)
      report.pairs.push_back({.first = j,
                              .second = i,
                              .one_machine = false,
                              .latency = latency,
                              .bytes_per_second = speed});
  }
  return report;
}

TEST(Network, NamesThePairThatIsMuchSlower) {
  NetworkReport report = Pairs(4, 1e-5, 1e9);
  EXPECT_THAT(Verdict(report), HasSubstr("no pair is much slower"));
  report.pairs[3].bytes_per_second = 1e8;
  EXPECT_THAT(Verdict(report), HasSubstr("Between rank 0 (node0) and rank 3 (node3) bandwidth is "
                                         "10.0 times below the median"));
  report.pairs[3] = report.pairs[0];
  report.pairs[5].latency = 1e-4;
  EXPECT_THAT(Verdict(report), HasSubstr("latency is"));
}

TEST(Network, KnowsWhatASlowNetworkLooksLike) {
  EXPECT_THAT(Verdict(Pairs(4, 1e-4, 11e6)), HasSubstr("100 Mbit/s"));
  EXPECT_THAT(Verdict(Pairs(4, 1e-4, 112e6)), HasSubstr("1 Gbit/s"));
  EXPECT_THAT(Verdict(Pairs(4, 1e-4, 1.1e9)), HasSubstr("10 Gbit/s"));
  EXPECT_THAT(Verdict(Pairs(1, 0, 0)), HasSubstr("one rank"));
}

}  // namespace yoke::network_test
