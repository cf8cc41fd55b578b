// Collective events: the same results as messages, in the same virtual time.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "comm/simulated.h"
#include "comm/virtual_time.h"

namespace yoke::collective_event_test {

struct Case {
  std::string name;
  int ranks = 0;
  int64_t numbers = 0;
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::kAuto;
  SimulatedRanks cluster = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name << " of " << c.ranks; }

SimulatedRanks Flat() { return {.latency = 2e-5, .bytes_per_second = 1.25e9}; }

/// Of so many nodes, with uplinks that are a quarter of the cards.
SimulatedRanks Racks(int ranks, int nodes) {
  SimulatedRanks cluster = Flat();
  NodeGroups racks = {.latency = 1e-5};
  for (int rank = 0; rank < ranks; ++rank) racks.group_of.push_back(rank / nodes);
  racks.bytes_per_second.assign(racks.group_of.back() + 1, nodes * 1.25e9 / 4);
  cluster.groups.push_back(racks);
  return cluster;
}

struct Result {
  double seconds = 0;
  std::vector<float> sums;
  Traffic traffic;
};

/// Work of unlike length, then two sums.
Result Simulated(const Case& c, bool event) {
  SimulatedRanks cluster = c.cluster;
  cluster.ranks = c.ranks;
  cluster.all_reduce = c.algorithm;
  cluster.collective_events_above = event ? 1 : 1 << 20;
  cluster.service = [](int rank, const Cost& cost) {
    return cost.operations * (1 + 0.1 * Random({7, static_cast<uint64_t>(rank)}).Uniform());
  };
  Result result;
  result.seconds = Simulate(cluster, [&](const Communicator& world) {
    std::vector<float> values(c.numbers, 1);
    for (int step = 0; step < 2; ++step) {
      world.Charge({.operations = 1e-3});
      world.AllReduce(values);
    }
    world.Barrier();
    if (world.rank() > 0) return;
    result.sums = values;
    result.traffic = world.traffic();
  });
  return result;
}

class AllReduceEvents : public testing::TestWithParam<Case> {};

TEST_P(AllReduceEvents, TakesTheTimeOfItsMessages) {
  const Result messages = Simulated(GetParam(), false), event = Simulated(GetParam(), true);
  EXPECT_NEAR(event.seconds / messages.seconds, 1, 0.01) << messages.seconds;
  EXPECT_EQ(event.sums, messages.sums);
  EXPECT_EQ(event.sums[0], GetParam().ranks * GetParam().ranks);
  EXPECT_EQ(event.traffic.messages_sent, messages.traffic.messages_sent);
  const auto bytes = static_cast<double>(messages.traffic.bytes_sent);
  EXPECT_NEAR(event.traffic.bytes_sent, bytes, 8.0 * GetParam().ranks);
  EXPECT_NEAR(event.traffic.bytes_received, messages.traffic.bytes_received,
              8.0 * GetParam().ranks);
  EXPECT_NEAR(event.traffic.seconds_waited, messages.traffic.seconds_waited,
              0.02 * messages.seconds);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  constexpr int64_t kLong = 51200;  // halves of halves are whole, so that equal times stay equal
  for (const int ranks : {2, 3, 8, 20, 64, 100, 256}) {
    for (const auto& [name, algorithm] : {std::pair("tree", AllReduceAlgorithm::kTree),
                                          {"halving", AllReduceAlgorithm::kHalving},
                                          {"ring", AllReduceAlgorithm::kRing}})
      cases.push_back({name, ranks, kLong, algorithm, Flat()});
    cases.push_back({"short", ranks, 10, AllReduceAlgorithm::kAuto, Flat()});
  }
  SimulatedRanks copying = Flat();
  copying.copy_bytes_per_second = 1e9;
  for (const int ranks : {20, 64}) {
    cases.push_back({"racks, tree", ranks, kLong, AllReduceAlgorithm::kTree, Racks(ranks, 8)});
    cases.push_back(
        {"racks, halving", ranks, kLong, AllReduceAlgorithm::kHalving, Racks(ranks, 8)});
    cases.push_back({"racks, ring", ranks, kLong, AllReduceAlgorithm::kRing, Racks(ranks, 8)});
    cases.push_back({"copies", ranks, kLong, AllReduceAlgorithm::kAuto, copying});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Clusters, AllReduceEvents, testing::ValuesIn(Cases()));

/// A gather, a split, sums in its parts and a count, by messages and as one event each.
TEST(CollectiveEvents, DoWhatMessagesDo) {
  for (const int collective_events_above : {1, 1000}) {
    SimulatedRanks cluster = Flat();
    cluster.ranks = 9;
    cluster.collective_events_above = collective_events_above;
    Simulate(cluster, [](const Communicator& world) {
      const std::vector<std::byte> mine(world.rank(), std::byte(world.rank()));
      const auto all = world.AllGather(mine);
      for (int rank = 0; rank < 9; ++rank)
        EXPECT_EQ(all[rank], std::vector<std::byte>(rank, std::byte(rank)));
      // Each tells rank 0 its number, and the next one 10.
      const int64_t count = VirtualTime(world).CountFor(
          {{0, world.rank()}, {(world.rank() + 1) % 9, world.rank() == 8 ? 0 : 10}});
      EXPECT_EQ(count, world.rank() == 0 ? 36 : 10);
      const Communicator part = world.Split(world.rank() % 2, -world.rank());
      EXPECT_EQ(part.size(), world.rank() % 2 == 0 ? 5 : 4);
      EXPECT_EQ(part.rank(), (8 - world.rank()) / 2);
      std::vector<float> sum = {static_cast<float>(world.rank())};
      part.AllReduce(sum);
      EXPECT_EQ(sum[0], world.rank() % 2 == 0 ? 20 : 16);
      // The first one leaves early, and comes to the next call before others have left this one.
      for (int i = 0; i < 3; ++i) world.Barrier();
    });
  }
}

TEST(CollectiveEvents, WaitNoLongerThanTheTimeout) {
  SimulatedRanks cluster = Flat();
  cluster.ranks = 3;
  cluster.timeout = 5;
  cluster.collective_events_above = 1;
  try {
    Simulate(cluster, [](const Communicator& world) {
      if (world.rank() == 2) return world.Sleep(100);
      world.Barrier();
    });
    FAIL() << "rank 2 was not missed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("waited 5 s for any rank in barrier"),
              std::string::npos)
        << error.what();
  }
}

TEST(CollectiveEvents, EndWithTheFailureOfARank) {
  SimulatedRanks cluster = Flat();
  cluster.ranks = 3;
  cluster.collective_events_above = 1;
  EXPECT_THROW(Simulate(cluster,
                        [](const Communicator& world) {
                          if (world.rank() == 2) throw UserError("wrong data");
                          world.Barrier();
                        }),
               UserError);
}

/// A shrunken model's messages and work count as those of the real one.
TEST(BilledCommunicator, CountsWhatItStandsFor) {
  SimulatedRanks cluster = {.ranks = 2, .timeout = 1000, .bytes_per_second = 1000};
  cluster.service = [](int, const Cost& cost) { return cost.operations; };
  const double end = Simulate(cluster, [](const Communicator& world) {
    const Communicator billed = VirtualTime(world).BilledBy(100).Duplicate();
    EXPECT_EQ(VirtualTime(billed).scale(), 100);
    if (world.rank() == 0) {
      billed.Charge({.operations = 1});                  // 100 s
      billed.Send(std::vector<std::byte>(18), 1, 0, 8);  // 8 + 1000 bytes: 1.008 s
      EXPECT_EQ(billed.traffic().bytes_sent, 1008);
    } else {
      EXPECT_EQ(billed.Receive(0, 0).bytes.size(), 18U);
      EXPECT_EQ(billed.traffic().bytes_received, 1008);
    }
  });
  EXPECT_NEAR(end, 101.008, 1e-9);
}

}  // namespace yoke::collective_event_test
