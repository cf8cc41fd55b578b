// Simulated groups: racks and regions whose nodes share a link, and nodes with unlike cards.
#include <gtest/gtest.h>

#include "comm/simulated.h"

namespace yoke::simulated_groups_test {

std::vector<std::byte> Of(int64_t bytes) { return std::vector<std::byte>(bytes); }

/// Four nodes in two racks.
SimulatedRanks TwoRacks(double uplink) {
  return {.ranks = 4,
          .timeout = 1e6,
          .latency = 0.5,
          .bytes_per_second = 10000,
          .groups = {{.group_of = {0, 0, 1, 1}, .bytes_per_second = {uplink, uplink}}}};
}

/// When each rank that another sends `bytes` to at 0 has them.
std::vector<double> Arrivals(const SimulatedRanks& ranks, std::vector<std::pair<int, int>> routes,
                             int64_t bytes = 10000) {
  std::vector<double> arrivals(ranks.ranks);
  Simulate(ranks, [&](const Communicator& world) {
    for (const auto& [from, to] : routes)
      if (from == world.rank()) world.Send(Of(bytes), to, 0);
    for (const auto& [from, to] : routes) {
      if (to != world.rank()) continue;
      world.Receive(from, 0);
      arrivals[to] = world.Now();
    }
  });
  return arrivals;
}

TEST(SimulatedGroups, UnlikeCardsMoveAMessageAtTheSlowerOnesSpeed) {
  SimulatedRanks ranks = {.ranks = 2, .latency = 0.5, .nodes = {SimulatedNode(), SimulatedNode()}};
  ranks.nodes[0].bytes_per_second = 10000;
  ranks.nodes[1].bytes_per_second = 5000;
  EXPECT_DOUBLE_EQ(Arrivals(ranks, {{0, 1}})[1], 2.5);
  EXPECT_DOUBLE_EQ(Arrivals(ranks, {{1, 0}})[0], 2.5);
  EXPECT_DOUBLE_EQ(Arrivals(ranks, {{1, 0}}, 1000)[0], 0.7);
}

TEST(SimulatedGroups, MessagesToAnotherRackQueueAtTheUplink) {
  const std::vector<std::pair<int, int>> across = {{0, 2}, {1, 3}};
  EXPECT_EQ(Arrivals(TwoRacks(10000), across), (std::vector<double>{0, 0, 1.5, 2.5}));
  EXPECT_EQ(Arrivals(TwoRacks(20000), across), (std::vector<double>{0, 0, 1.5, 1.5}));
  EXPECT_EQ(Arrivals(TwoRacks(1e18), across), (std::vector<double>{0, 0, 1.5, 1.5}));
  // A slower uplink than a card.
  EXPECT_EQ(Arrivals(TwoRacks(5000), across), (std::vector<double>{0, 0, 2.5, 4.5}));
}

TEST(SimulatedGroups, MessagesFromTwoRacksQueueAtTheDownlink) {
  SimulatedRanks ranks = TwoRacks(10000);
  ranks.groups[0].group_of = {0, 1, 2, 2};
  ranks.groups[0].bytes_per_second = {10000, 10000, 10000};
  EXPECT_EQ(Arrivals(ranks, {{0, 2}, {1, 3}}), (std::vector<double>{0, 0, 1.5, 2.5}));
}

TEST(SimulatedGroups, MessagesInsideARackDoNotUseItsLink) {
  EXPECT_EQ(Arrivals(TwoRacks(1), {{0, 1}, {2, 3}}), (std::vector<double>{0, 1.5, 0, 1.5}));
}

TEST(SimulatedGroups, APacketDoesNotQueueAtALink) {
  EXPECT_EQ(Arrivals(TwoRacks(1000), {{0, 2}, {1, 3}}, 1000),
            (std::vector<double>{0, 0, 1.5, 1.5}));
}

TEST(SimulatedGroups, RegionsAddTheirLatency) {
  SimulatedRanks ranks = TwoRacks(10000);
  ranks.groups.push_back(
      {.group_of = {0, 0, 1, 1}, .bytes_per_second = {5000, 5000}, .latency = 3});
  EXPECT_EQ(Arrivals(ranks, {{0, 2}, {3, 1}, {3, 2}}), (std::vector<double>{0, 5.5, 5.5, 0}));
}

/// Seconds of one all-reduce of 80,000 bytes by four nodes.
double SecondsOfAllReduce(SimulatedRanks ranks, AllReduceAlgorithm algorithm) {
  ranks.all_reduce = algorithm;
  return Simulate(ranks, [](const Communicator& world) {
    std::vector<float> values(20000, 1.0F);
    world.AllReduce(values);
  });
}

TEST(SimulatedGroups, AnAllReduceTakesWhatItsMessagesNeed) {
  // A ring: six rounds of a quarter, of which one message leaves each rack. Through a slow uplink
  // they go one right after another.
  const auto ring = AllReduceAlgorithm::kRing;
  EXPECT_NEAR(SecondsOfAllReduce(TwoRacks(1e18), ring), 6 * (0.5 + 2), 1e-9);
  EXPECT_NEAR(SecondsOfAllReduce(TwoRacks(10000), ring), 6 * (0.5 + 2), 1e-9);
  EXPECT_NEAR(SecondsOfAllReduce(TwoRacks(2500), ring), 0.5 + 6 * 8, 1e-9);
  // By halving: half of the values between the racks, a quarter inside them, and the same back. The
  // second node of a rack waits at the uplink for the first: 4 s each time, of which it has 0.5
  // left to wait the second time, when it is that much later itself.
  const auto halving = AllReduceAlgorithm::kHalving;
  EXPECT_NEAR(SecondsOfAllReduce(TwoRacks(1e18), halving), 2 * (0.5 + 4) + 2 * (0.5 + 2), 1e-9);
  EXPECT_NEAR(SecondsOfAllReduce(TwoRacks(10000), halving), 14 + 4 + 3.5, 1e-9);
}

}  // namespace yoke::simulated_groups_test
