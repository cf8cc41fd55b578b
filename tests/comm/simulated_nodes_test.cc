// Simulated nodes: what nodes, cores and network cards do to messages and work.
#include "comm/simulated.h"

#include <gtest/gtest.h>

namespace yoke::simulated_nodes_test {

std::vector<std::byte> Of(int64_t bytes) { return std::vector<std::byte>(bytes); }

/// When rank 0 has received a message of 10,000 bytes from each other rank, all sent at 0.
std::vector<double> ArrivalsAtRank0(const SimulatedRanks& ranks) {
  std::vector<double> arrivals;
  Simulate(ranks, [&](const Communicator& world) {
    if (world.rank() > 0) return world.Send(Of(10000), 0, 0);
    for (int i = 1; i < world.size(); ++i) {
      world.Receive(kAnySource, 0);
      arrivals.push_back(world.Now());
    }
  });
  return arrivals;
}

TEST(SimulatedCards, PushesQueueAtAServer) {
  const std::vector<double> arrivals =
      ArrivalsAtRank0({.ranks = 129, .timeout = 1e3, .latency = 0.5, .bytes_per_second = 10000});
  for (int i = 0; i < 128; ++i) EXPECT_DOUBLE_EQ(arrivals[i], 1.5 + i);
}

TEST(SimulatedCards, AnswersQueueAtTheSender) {
  std::vector<double> arrivals(4);
  Simulate({.ranks = 4, .latency = 0.5, .bytes_per_second = 10000}, [&](const Communicator& world) {
    if (world.rank() > 0) {
      world.Receive(0, 0);
    } else {
      for (int rank : {1, 2, 3}) world.Send(Of(10000), rank, 0);
      EXPECT_EQ(world.Now(), 0);  // a sender does not wait
    }
    arrivals[world.rank()] = world.Now();
  });
  EXPECT_EQ(arrivals, (std::vector<double>{0, 1.5, 2.5, 3.5}));
}

TEST(SimulatedCards, BothDirectionsRunAtOnce) {
  const double end =
      Simulate({.ranks = 2, .bytes_per_second = 10000}, [](const Communicator& world) {
        world.Send(Of(10000), 1 - world.rank(), 0);
        world.Receive(1 - world.rank(), 0);
      });
  EXPECT_DOUBLE_EQ(end, 1);
}

TEST(SimulatedCards, APacketDoesNotQueueButOvertakesNoneOfItsSender) {
  std::vector<double> arrivals(3);
  Simulate({.ranks = 3, .latency = 0.5, .bytes_per_second = 10000}, [&](const Communicator& world) {
    if (world.rank() > 0) {
      if (world.rank() == 1) world.Send(Of(10000), 0, 0);
      return world.Send(Of(1000), 0, 1);
    }
    world.Receive(2, 1);
    arrivals[0] = world.Now();
    world.Receive(1, 0);
    arrivals[1] = world.Now();
    world.Receive(1, 1);
    arrivals[2] = world.Now();
  });
  EXPECT_DOUBLE_EQ(arrivals[0], 0.6);
  EXPECT_DOUBLE_EQ(arrivals[1], 1.5);
  EXPECT_DOUBLE_EQ(arrivals[2], 1.5);
}

TEST(SimulatedCards, AnIdleCardReceivesWhatComesFirst) {
  // Rank 0's second message is sent first, but its card is busy for three seconds.
  std::vector<double> arrivals;
  Simulate({.ranks = 3, .bytes_per_second = 10000}, [&](const Communicator& world) {
    if (world.rank() == 0) {
      world.Send(Of(30000), 1, 0);
      return world.Send(Of(10000), 2, 0);
    }
    if (world.rank() == 1) {
      world.Sleep(0.5);
      world.Send(Of(10000), 2, 0);
      return static_cast<void>(world.Receive(0, 0));
    }
    for (int i = 0; i < 2; ++i) {
      world.Receive(kAnySource, 0);
      arrivals.push_back(world.Now());
    }
  });
  EXPECT_EQ(arrivals, (std::vector<double>{1.5, 4}));
}

TEST(SimulatedCards, FairLinksAreSharedByConnections) {
  // To 1 and 2 from the start; to 2 once more behind the first; from 3 to 2 a second later.
  std::vector<double> arrivals(4);
  Simulate({.ranks = 4, .latency = 0.5, .bytes_per_second = 10000, .fair_links = true},
           [&](const Communicator& world) {
             if (world.rank() == 0) {
               world.Send(Of(10000), 1, 0);
               world.Send(Of(10000), 2, 0);
               return world.Send(Of(100), 2, 1);
             }
             if (world.rank() == 3) {
               world.Sleep(1);
               return world.Send(Of(10000), 2, 2);
             }
             world.Receive(0, 0);
             arrivals[world.rank()] = world.Now();
             if (world.rank() == 1) return;
             world.Receive(0, 1);
             arrivals[0] = world.Now();
             world.Receive(3, 2);
             arrivals[3] = world.Now();
           });
  EXPECT_NEAR(arrivals[1], 2.5, 1e-6);   // half of rank 0's card
  EXPECT_NEAR(arrivals[2], 2.5, 1e-6);   // the other half, as much as is left beside rank 3's
  EXPECT_NEAR(arrivals[0], 2.52, 1e-6);  // then half of rank 2's card
  EXPECT_NEAR(arrivals[3], 3.01, 1e-6);
}

TEST(SimulatedNodes, MessagesInsideARankOrANodeUseNoCard) {
  const SimulatedRanks pairs{
      .ranks = 4, .latency = 0.5, .bytes_per_second = 10000, .ranks_per_node = 2};
  EXPECT_EQ(ArrivalsAtRank0(pairs), (std::vector<double>{0, 1.5, 2.5}));
  EXPECT_EQ(Simulate(pairs,
                     [](const Communicator& world) {
                       world.Send(Of(10000), world.rank(), 0);
                       world.Receive(world.rank(), 0);
                     }),
            0);
}

double SecondsOfWork(int ranks, int per_node, int cores) {
  return Simulate({.ranks = ranks,
                   .service = SteadyService(1, 1e18),
                   .ranks_per_node = per_node,
                   .cores = cores},
                  [](const Communicator& world) { world.Charge({.operations = 2}); });
}

TEST(SimulatedNodes, RanksShareTheCores) {
  EXPECT_NEAR(SecondsOfWork(4, 4, 0), 2, 1e-9);  // as many as are asked for
  EXPECT_NEAR(SecondsOfWork(4, 4, 4), 2, 1e-9);
  EXPECT_NEAR(SecondsOfWork(4, 4, 2), 4, 1e-9);
  EXPECT_NEAR(SecondsOfWork(3, 3, 2), 3, 0.01);  // they take turns
  EXPECT_NEAR(SecondsOfWork(4, 2, 1), 4, 1e-9);
  EXPECT_NEAR(SecondsOfWork(5, 2, 1), 4, 1e-9);  // the last node has one
}

/// Seconds that rank 0 works for, while rank 1 and two threads of rank 2 wait for it.
double SecondsBesideWaiters(int cores) {
  double seconds = 0;
  const SimulatedRanks ranks{.ranks = 3,
                             .service = SteadyService(1, 1e18),
                             .ranks_per_node = 3,
                             .cores = cores,
                             .polling = 0.25};
  Simulate(ranks, [&](const Communicator& world) {
    if (world.rank() == 0) {
      world.Sleep(0.001);
      world.Charge({.operations = 2});
      seconds = world.Now() - 0.001;
      world.Send({}, 1, 0);
      world.Send({}, 2, 0);
      return world.Send({}, 2, 1);
    }
    const auto beside = world.Spawn([&world](const Communicator& own) {
      if (world.rank() == 2) world.For(own).Receive(0, 1);
    });
    world.Receive(0, 0);
  });
  return seconds;
}

TEST(SimulatedNodes, WaitingRanksPoll) {
  EXPECT_NEAR(SecondsBesideWaiters(1), 4, 0.01);  // half of the only core
  EXPECT_NEAR(SecondsBesideWaiters(2), 2, 0.01);  // on the other core
}

TEST(SimulatedNodes, TurnsAreFair) {
  // 1 s and 3 s of work on one core: the first ends when both have had a second.
  std::vector<double> ends(2);
  Simulate({.ranks = 2, .service = SteadyService(1, 1e18), .ranks_per_node = 2, .cores = 1},
           [&](const Communicator& world) {
             world.Charge({.operations = world.rank() == 0 ? 1.0 : 3.0});
             ends[world.rank()] = world.Now();
           });
  EXPECT_NEAR(ends[0], 2, 0.01);
  EXPECT_NEAR(ends[1], 4, 0.01);
}

TEST(SimulatedNodes, WhoHasWaitedDoesNotWaitForTurns) {
  double seconds = 0;
  const double end =
      Simulate({.ranks = 3, .service = SteadyService(1, 1e18), .ranks_per_node = 3, .cores = 1},
               [&](const Communicator& world) {
                 if (world.rank() > 0) return world.Charge({.operations = 1});
                 world.Sleep(0.0505);
                 world.Charge({.operations = 1e-4});
                 seconds = world.Now() - 0.0505;
               });
  EXPECT_NEAR(seconds, 1e-4, 1e-9);
  EXPECT_NEAR(end, 2 + 1e-4, 1e-9);  // the others pay for it
}

TEST(SimulatedNodes, SmallPiecesOfWorkShareATurn) {
  double seconds = 0;
  Simulate({.ranks = 2, .service = SteadyService(1, 1e18), .ranks_per_node = 2, .cores = 1},
           [&](const Communicator& world) {
             if (world.rank() > 0) return world.Charge({.operations = 1});
             for (int i = 0; i < 1000; ++i) world.Charge({.operations = 1e-5});
             seconds = world.Now();
           });
  EXPECT_NEAR(seconds, 0.02, 0.002);  // not a turn of the other for each
}

/// Two that wait after each piece of work get no more than the only core.
TEST(SimulatedNodes, RestingGivesNoMoreCores) {
  const double end =
      Simulate({.ranks = 2, .service = SteadyService(1, 1e18), .ranks_per_node = 2, .cores = 1},
               [](const Communicator& world) {
                 for (int i = 0; i < 1000; ++i) {
                   world.Charge({.operations = 1e-3});
                   world.Sleep(1e-9);
                 }
               });
  EXPECT_NEAR(end, 2, 0.01);
}

/// Two nodes of two ranks; the last rank is slow, and its node would die at once.
TEST(SimulatedNodes, ARankAloneHasItsSpeedAndItsNode) {
  const auto seconds = [](int rank, const Cost& cost) {
    return cost.operations * (rank == 3 ? 5 : 1);
  };
  SimulatedRanks cluster = {.ranks = 4, .service = seconds, .ranks_per_node = 2};
  cluster.devices = [seconds](int rank, const Cost& cost, const WorkPlace& place) {
    return place.device == "gpu" ? seconds(rank, cost) / 10 : seconds(rank, cost);
  };
  cluster.nodes = {{.cores = 7}, {.cores = 1, .cpu_threads = 2, .bytes_per_second = 8}};
  cluster.node_of = {0, 0, 1, 1};
  cluster.groups = {{.group_of = {0, 1}, .bytes_per_second = {1, 1}}};
  cluster.failures.death = [](int, int, double born) { return born + 1e-9; };
  const SimulatedRanks alone = Alone(cluster, 3);
  EXPECT_EQ(alone.Nodes(), 1);
  EXPECT_EQ(alone.NodeAt(0).cores, 1);
  EXPECT_EQ(alone.NodeAt(0).cpu_threads, 2);
  EXPECT_EQ(alone.NodeAt(0).bytes_per_second, 8);
  const double end = Simulate(alone, [](const Communicator& world) {
    EXPECT_EQ(world.size(), 1);
    world.Charge({.operations = 1});
    world.Charge({.operations = 1}, {.device = "gpu", .examples = 1});
  });
  EXPECT_NEAR(end, 5 + 0.5, 1e-9);
  EXPECT_NEAR(Simulate(Alone(cluster, 0), [](auto& world) { world.Charge({.operations = 1}); }), 1,
              1e-9);
}

TEST(SimulatedNodes, CopiesTakeACore) {
  const double end =
      Simulate({.ranks = 2, .copy_bytes_per_second = 10000}, [](const Communicator& world) {
        if (world.rank() == 0) {
          world.Send(Of(10000), 1, 0);
          EXPECT_DOUBLE_EQ(world.Now(), 1);
        } else {
          world.Receive(0, 0);
        }
      });
  EXPECT_NEAR(end, 2, 1e-9);
}

}  // namespace yoke::simulated_nodes_test
