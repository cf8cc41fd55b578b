// Simulated worlds whose nodes die, and what the others do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "comm/simulated.h"
#include "comm/support/deaths.h"
#include "comm/support/values.h"
#include "comm/virtual_time.h"

namespace yoke::simulated_losses_test {

using testing::ElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Each node dies at its time, once.
SimulatedRanks Mortals(int ranks, const std::map<int, double>& deaths) {
  SimulatedRanks cluster = {
      .ranks = ranks, .latency = 0.1, .bytes_per_second = 100, .service = SteadyService(1, 1e18)};
  cluster.failures = test::DeathsAt(deaths, 2, 1);
  return cluster;
}

/// The sizes of the worlds that each of the first ranks enters.
using Worlds = std::vector<std::vector<int>>;

using Body = std::function<void(const Communicator& world, const SimulatedPlace& place)>;

Worlds WorldsOf(const SimulatedRanks& cluster, const Body& body, double* end = nullptr) {
  Worlds worlds(cluster.ranks);
  const double last =
      SimulateLosses(cluster, [&](const Communicator& world, const SimulatedPlace& place) {
        worlds[place.rank].push_back(world.size());
        body(world, place);
      });
  if (end) *end = last;
  return worlds;
}

void Sum(const Communicator& world) {
  std::vector<float> one(10, 1);
  world.AllReduce(one);
  EXPECT_EQ(one[7], world.size());
}

TEST(SimulatedLosses, TheOthersGoOnInASmallerWorld) {
  double end = 0;
  const Worlds worlds = WorldsOf(
      Mortals(4, {{2, 3.5}}),
      [](const Communicator& world, const SimulatedPlace& place) {
        if (world.size() == 3) {
          EXPECT_DOUBLE_EQ(world.Now(), 6.5);  // 2 s until they know it, 1 s of restart
          EXPECT_THAT(place.lost, ElementsAre(2));
          EXPECT_EQ(place.lost_nodes, 1);
          EXPECT_EQ(place.rank, world.rank() + (world.rank() < 2 ? 0 : 1));
          return Sum(world);
        }
        if (world.rank() == 2) world.Receive(3, 1);  // which is not sent
        try {
          world.Receive(2, 0);
          ADD_FAILURE() << "a dead rank has sent";
        } catch (const RankLost&) {
          EXPECT_DOUBLE_EQ(world.Now(), 5.5);
          throw;
        }
      },
      &end);
  EXPECT_THAT(worlds,
              ElementsAre(ElementsAre(4, 3), ElementsAre(4, 3), ElementsAre(4), ElementsAre(4, 3)));
  EXPECT_GT(end, 6.5);
}

TEST(SimulatedLosses, ItEndsWhileItComputes) {
  for (const int cores : {0, 1}) {
    SimulatedRanks cluster = Mortals(2, {{1, 3.5}});
    cluster.cores = cores;
    double end = 0;
    const Worlds worlds = WorldsOf(
        cluster,
        [](const Communicator& world, const SimulatedPlace&) {
          if (world.size() == 1) return;
          if (world.rank() == 0) world.Receive(1, 0);
          world.Charge({.operations = 100});
          ADD_FAILURE() << "it computes on";
        },
        &end);
    EXPECT_THAT(worlds, ElementsAre(ElementsAre(2, 1), ElementsAre(2)));
    EXPECT_DOUBLE_EQ(end, 6.5);
  }
}

TEST(SimulatedLosses, ItSendsNothingMoreAndUnwindsItsTasks) {
  int unwound = 0;
  struct AtEnd {
    ~AtEnd() { ++count; }
    int& count;
  };
  const Worlds worlds =
      WorldsOf(Mortals(3, {{1, 3.5}}), [&](const Communicator& world, const SimulatedPlace&) {
        if (world.size() == 2) return Sum(world);
        if (world.rank() != 1) {
          EXPECT_EQ(world.Receive(1, 0).bytes.size(), 0);  // sent in time
          world.Receive(1, 1);
        }
        const AtEnd mine = {unwound};
        const std::shared_ptr<void> side = world.Spawn([&](const Communicator& own) {
          const AtEnd its = {unwound};
          own.Receive(kAnySource, 7);
        });
        world.Sleep(3.45);
        for (const int to : {0, 2}) world.Send({}, to, 0);
        for (const int to : {0, 2}) world.Send(Bytes(std::array<float, 2>{}), to, 1);  // too late
        try {
          world.Sleep(1);
        } catch (const std::exception&) {
          ADD_FAILURE() << "a death is no error";
        } catch (...) {
          for (const int to : {0, 2}) world.Send({}, to, 1);
          throw;
        }
      });
  EXPECT_THAT(worlds, ElementsAre(ElementsAre(3, 2), ElementsAre(3), ElementsAre(3, 2)));
  EXPECT_EQ(unwound, 2);
}

TEST(SimulatedLosses, RankZeroInACollective) {
  int rounds = 0;
  const Worlds worlds =
      WorldsOf(Mortals(5, {{0, 2.25}}), [&](const Communicator& world, const SimulatedPlace&) {
        for (int i = 0; i < 8; ++i) {
          world.Charge({.operations = 0.5});
          Sum(world);
          if (world.rank() == 0) ++rounds;
        }
      });
  EXPECT_THAT(worlds[0], ElementsAre(5));
  for (int rank = 1; rank < 5; ++rank) EXPECT_THAT(worlds[rank], ElementsAre(5, 4));
  EXPECT_GT(rounds, 8);
  EXPECT_LT(rounds, 12);
}

TEST(SimulatedLosses, ANodesRanksDieTogether) {
  SimulatedRanks cluster = Mortals(6, {{1, 1}});
  cluster.ranks_per_node = 2;
  const Worlds worlds =
      WorldsOf(cluster, [](const Communicator& world, const SimulatedPlace& place) {
        if (world.size() < 6) {
          EXPECT_THAT(place.lost, ElementsAre(2, 3));
          EXPECT_EQ(place.lost_nodes, 1);
        }
        for (int i = 0; i < 10; ++i) Sum(world);
      });
  EXPECT_THAT(worlds[2], ElementsAre(6));
  EXPECT_THAT(worlds[3], ElementsAre(6));
  EXPECT_THAT(worlds[4], ElementsAre(6, 4));
}

TEST(SimulatedLosses, TwoAtOnceAndAnotherBeforeTheOthersKnow) {
  const Worlds worlds = WorldsOf(Mortals(5, {{1, 1}, {3, 1}, {4, 2.5}}),
                                 [](const Communicator& world, const SimulatedPlace& place) {
                                   if (world.size() < 5) {
                                     EXPECT_THAT(place.lost, ElementsAre(1, 3, 4));
                                   }
                                   for (int i = 0; i < 20; ++i) Sum(world);
                                 });
  EXPECT_THAT(worlds[0], ElementsAre(5, 2));
  EXPECT_THAT(worlds[2], ElementsAre(5, 2));
}

TEST(SimulatedLosses, DuringTheRestartAndInTheNextWorld) {
  // The first is known at 3, and the next world begins at 4.
  const Worlds worlds = WorldsOf(Mortals(5, {{1, 1}, {0, 3.5}, {3, 8}}),
                                 [](const Communicator& world, const SimulatedPlace&) {
                                   for (int i = 0; i < 20; ++i) Sum(world);
                                 });
  EXPECT_THAT(worlds[0], ElementsAre(5));  // it is dead when the second world begins
  EXPECT_THAT(worlds[2], ElementsAre(5, 4, 3, 2));
  EXPECT_THAT(worlds[3], ElementsAre(5, 4, 3));
  EXPECT_THAT(worlds[4], ElementsAre(5, 4, 3, 2));
}

TEST(SimulatedLosses, BeforeAnybodyBegins) {
  const Worlds worlds = WorldsOf(
      Mortals(3, {{0, 0}}), [](const Communicator& world, const SimulatedPlace&) { Sum(world); });
  EXPECT_THAT(worlds, ElementsAre(ElementsAre(), ElementsAre(3, 2), ElementsAre(3, 2)));
}

TEST(SimulatedLosses, OneIsLeft) {
  const Worlds worlds = WorldsOf(Mortals(3, {{0, 1}, {2, 1.5}}),
                                 [](const Communicator& world, const SimulatedPlace&) {
                                   for (int i = 0; i < 20; ++i) Sum(world);
                                 });
  EXPECT_THAT(worlds[1], ElementsAre(3, 1));
}

TEST(SimulatedLosses, NobodyIsLeft) {
  try {
    WorldsOf(Mortals(2, {{0, 1}, {1, 1.5}}), [](const Communicator& world, const SimulatedPlace&) {
      for (int i = 0; i < 20; ++i) Sum(world);
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no node of the simulated cluster is left: all 2 have died, the last one after "
                 "1.5 virtual seconds");
  }
}

TEST(SimulatedLosses, WhoHasFinishedCannotBeLost) {
  double end = 0;
  const Worlds worlds = WorldsOf(
      Mortals(3, {{1, 1}}),
      [](const Communicator& world, const SimulatedPlace&) {
        if (world.rank() != 1) world.Charge({.operations = 5});
      },
      &end);
  for (const auto& sizes : worlds) EXPECT_THAT(sizes, ElementsAre(3));
  EXPECT_DOUBLE_EQ(end, 5);
}

TEST(SimulatedLosses, OnceABodyHasEndedNoneIsCalledAgain) {
  const Worlds worlds =
      WorldsOf(Mortals(3, {{2, 1}}), [](const Communicator& world, const SimulatedPlace&) {
        if (world.rank() > 0) world.Receive((world.rank() + 1) % 3, 5);
      });
  for (const auto& sizes : worlds) EXPECT_THAT(sizes, ElementsAre(3));
}

TEST(SimulatedLosses, WhereItIsNotWantedALossIsAFailure) {
  SimulatedRanks cluster = Mortals(3, {{2, 1}});
  cluster.failures.survive = false;
  try {
    Simulate(cluster, [](const Communicator& world) {
      for (int i = 0; i < 20; ++i) Sum(world);
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "node 2 (from 0) of the simulated cluster died after 1 virtual seconds");
  }
}

TEST(SimulatedLosses, AMistakeBesideALossIsTheFailure) {
  EXPECT_THROW(Simulate(Mortals(3, {{2, 1}}),
                        [](const Communicator& world) {
                          if (world.rank() == 0) world.Receive(1, 1);
                          world.Sleep(1.5);
                          throw UserError("no such file");
                        }),
               UserError);
}

TEST(SimulatedLosses, AnotherNodeReplacesIt) {
  SimulatedRanks cluster = Mortals(3, {});
  cluster.failures.replace = true;
  cluster.failures.death = [](int node, int life, double born) {
    return node == 1 && life < 2 ? born + 1 : kNever;
  };
  double end = 0;
  std::vector<double> begins;
  const Worlds worlds = WorldsOf(
      cluster,
      [&](const Communicator& world, const SimulatedPlace& place) {
        if (world.rank() == 0) begins.push_back(world.Now());
        EXPECT_EQ(place.rank, world.rank());
        EXPECT_EQ(place.lost_nodes, static_cast<int>(begins.size()) - 1);
        for (int i = 0; i < 20; ++i) Sum(world);
      },
      &end);
  for (const auto& sizes : worlds) EXPECT_THAT(sizes, ElementsAre(3, 3, 3));
  EXPECT_THAT(begins, ElementsAre(0, 4, 8));  // 1 s of life, 2 s of detection, 1 s of restart
}

TEST(SimulatedLosses, WorkAndCardsAreThoseOfTheFirstRank) {
  SimulatedRanks cluster = Mortals(3, {{0, 1}});
  cluster.nodes = {{.bytes_per_second = 1}, {.bytes_per_second = 10}, {.bytes_per_second = 1000}};
  cluster.service = [](int rank, const Cost& cost) { return rank * cost.operations; };
  WorldsOf(cluster, [](const Communicator& world, const SimulatedPlace&) {
    if (world.size() == 3) world.Receive(0, 1);
    const double began = world.Now();
    world.Charge({.operations = 1});
    EXPECT_DOUBLE_EQ(world.Now() - began, world.rank() + 1);
    if (world.rank() == 0) return world.Send(Bytes(std::array<float, 5>{}), 1, 0);
    world.Receive(0, 0);
    EXPECT_NEAR(world.Now() - began, 1 + 2 + 0.1, 1e-9);  // 20 bytes of the slower card
  });
}

TEST(SimulatedLosses, AreTheSameEveryTime) {
  const auto run = [](bool fair) {
    SimulatedRanks cluster = Mortals(6, {{1, 1}, {0, 2.1}, {4, 20}});
    cluster.service = ExponentialService(SteadyService(1, 1e18), 7, 6);
    cluster.fair_links = fair;
    double end = 0;
    WorldsOf(
        cluster,
        [](const Communicator& world, const SimulatedPlace&) {
          for (int i = 0; i < 30; ++i) {
            world.Charge({.operations = 1});
            world.Send(Bytes(std::array<float, 20>{}), (world.rank() + 1) % world.size(), 0);
            Sum(world);
          }
        },
        &end);
    return end;
  };
  for (const bool fair : {false, true}) EXPECT_EQ(run(fair), run(fair));
}

/// Rank 1 comes to a collective event and dies in it; rank 0 comes after that, before it is known.
TEST(SimulatedLosses, ACollectiveEventThatADeadRankHasJoinedIsNone) {
  const std::vector<std::function<void(const Communicator&)>> calls = {
      [](const Communicator& world) { world.Barrier(); },
      [](const Communicator& world) { world.AllGather({}); },
      [](const Communicator& world) { world.Split(0, 0).Barrier(); },
      [](const Communicator& world) { VirtualTime(world).CountFor({}); },
      [](const Communicator& world) {
        std::vector<float> one = {1};
        world.AllReduce(one);
        EXPECT_EQ(one[0], world.size());
      }};
  for (size_t call = 0; call < calls.size(); ++call) {
    SimulatedRanks cluster = Mortals(4, {{1, 5.0}});
    cluster.collective_events_above = 1;
    int lost = 0;
    const Worlds worlds =
        WorldsOf(cluster, [&](const Communicator& world, const SimulatedPlace& place) {
          try {
            if (world.rank() == 0 && place.world == 0) world.Sleep(6);
            calls[call](world);
          } catch (const RankLost&) {
            ++lost;
            throw;
          }
        });
    EXPECT_EQ(lost, 3) << call;
    EXPECT_THAT(worlds[0], ElementsAre(4, 3)) << call;
    EXPECT_THAT(worlds[1], ElementsAre(4)) << call;
  }
}

TEST(SimulatedLosses, WorkAndSleepGoOnToTheirEndsWhenAnotherIsLost) {
  double slept = 0, worked = 0;
  WorldsOf(Mortals(3, {{2, 1.0}}), [&](const Communicator& world, const SimulatedPlace& place) {
    if (place.world > 0) return;
    if (world.rank() == 0) world.Sleep(10), slept = world.Now();
    if (world.rank() == 1) world.Charge({.operations = 10}), worked = world.Now();
    world.Barrier();
  });
  EXPECT_DOUBLE_EQ(slept, 10);
  EXPECT_DOUBLE_EQ(worked, 10);
}

TEST(SimulatedLosses, NodesThatFailAtOnceEndInASentence) {
  SimulatedRanks cluster = Mortals(2, {});
  cluster.failures.death = [](int, int, double born) { return born; };
  cluster.failures.replace = true;
  EXPECT_THROW(WorldsOf(cluster, [](const Communicator&, const SimulatedPlace&) {}), UserError);
}

}  // namespace yoke::simulated_losses_test
