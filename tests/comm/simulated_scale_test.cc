// Many simulated ranks: fibers and their exceptions, time and memory that grow with the ranks
// alone.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/simulated.h"
#include "comm/support/values.h"
#include "kernels/threads.h"

namespace yoke::simulated_scale_test {

constexpr int kMany = 2000;

double Seconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

TEST(ManySimulatedRanks, TakeAMomentAndEndTogether) {
  double end = 0;
  const double seconds = Seconds([&] {
    end = Simulate({.ranks = kMany,
                    .latency = 0.5,
                    .bytes_per_second = 10000,
                    .service = SteadyService(1, 1e18)},
                   [](const Communicator& world) {
                     for (int round = 0; round < 5; ++round) {
                       world.Charge({.operations = 1});
                       world.Send(std::vector<std::byte>(10000), (world.rank() + 1) % kMany, 0);
                       world.Receive((world.rank() + kMany - 1) % kMany, 0);
                     }
                     std::vector<float> one = {1};
                     world.AllReduce(one);
                     EXPECT_EQ(one[0], kMany);
                     world.Barrier();
                   });
  });
  // Five rounds of 1 s of work, 0.5 s of latency and 1 s on the card. Then messages of 4 bytes up
  // and down a tree of depth 10 (no place below 2000 has more ones), and 11 of none for the
  // barrier.
  EXPECT_NEAR(end, 5 * 2.5 + 31 * 0.5 + 20 * 4e-4, 1e-6);
  EXPECT_LT(seconds, 100);  // 0.1 on idle cores, without a sanitizer
}

TEST(ManySimulatedRanks, PushToAServer) {
  int heard = 0;
  const double end = Simulate({.ranks = kMany, .timeout = 1e4, .bytes_per_second = 2000},
                              [&](const Communicator& world) {
                                if (world.rank() > 0)
                                  return world.Send(std::vector<std::byte>(2000), 0, 0);
                                for (; heard < world.size() - 1; ++heard)
                                  world.Receive(kAnySource, 0);
                              });
  EXPECT_EQ(heard, kMany - 1);
  EXPECT_DOUBLE_EQ(end, kMany - 1);
}

constexpr int kRanks = 90, kTeams = 3;

TEST(ManySimulatedRanks, SplitIntoTeams) {
  Simulate({.ranks = kRanks, .latency = 1}, [](const Communicator& world) {
    const Communicator team = world.Split(world.rank() % kTeams, -world.rank());
    EXPECT_EQ(team.size(), kRanks / kTeams);
    const int place = (kRanks - 1 - world.rank()) / kTeams;
    EXPECT_EQ(team.rank(), place);
    // Ranks of the team, whoever sends.
    team.Send({}, (team.rank() + 1) % team.size(), 0);
    EXPECT_EQ(team.Receive(kAnySource, 0).source, (team.rank() + team.size() - 1) % team.size());
    const Communicator pair = team.Duplicate().Split(team.rank() / 2, 0);
    EXPECT_EQ(pair.size(), 2);
    std::vector<float> mine = {static_cast<float>(world.rank())};
    pair.Reduce(mine, 0);
    if (pair.rank() == 0) {
      EXPECT_EQ(mine[0], 2 * world.rank() - kTeams);
    }
  });
}

TEST(SimulatedTasks, KeepTheirExceptionsWhileTheyWait) {
  Simulate({.ranks = 50, .latency = 1}, [](const Communicator& world) {
    const int right = (world.rank() + 1) % world.size();
    try {
      throw std::runtime_error(std::to_string(world.rank()));
    } catch (const std::exception& error) {
      world.Send({}, right, 0);
      world.Receive(kAnySource, 0);
      try {
        throw std::logic_error("inner");
      } catch (const std::logic_error&) {
        world.Sleep(world.rank() % 7);
      }
      world.Barrier();
      EXPECT_THROW(throw, std::runtime_error);
      EXPECT_EQ(error.what(), std::to_string(world.rank()));
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
}

TEST(SimulatedTasks, KeepTheirKernelThreads) {
  const int before = KernelThreads();
  Simulate({.ranks = 3}, [](const Communicator& world) {
    SetKernelThreads(world.rank() + 1);
    const int mine = KernelThreads();  // fewer, if the environment says so
    for (int i = 0; i < 3; ++i) {
      world.Sleep(1);
      EXPECT_EQ(KernelThreads(), mine);
    }
    // A thread starts with its own number.
    const auto beside = world.Spawn([&world](const Communicator& own) {
      SetKernelThreads(1);
      own.Sleep(world.rank());
      EXPECT_EQ(KernelThreads(), 1);
    });
    world.Sleep(1);
    EXPECT_EQ(KernelThreads(), mine);
  });
  EXPECT_EQ(KernelThreads(), before);
}

TEST(SimulatedTasks, SpawnAndEndManyTimes) {
  const double end = Simulate({.ranks = 4, .latency = 0.25}, [](const Communicator& world) {
    for (int i = 0; i < 200; ++i) {
      const auto beside = world.Spawn([](const Communicator& own) {
        own.Send({}, (own.rank() + 1) % own.size(), 0);
        own.Receive(kAnySource, 0);
      });
      world.Sleep(0.5);
    }
  });
  EXPECT_DOUBLE_EQ(end, 100);
}

TEST(ManySimulatedRanks, EndWithTheReasonOfOne) {
  int others = 0;
  EXPECT_THROW(Simulate({.ranks = kMany, .latency = 1},
                        [&](const Communicator& world) {
                          world.Barrier();
                          if (world.rank() == 777) throw std::out_of_range("the reason");
                          try {
                            world.Receive(kAnySource, 5);
                          } catch (const std::exception&) {
                            ++others;
                            throw;
                          }
                        }),
               std::out_of_range);
  EXPECT_EQ(others, kMany - 1);
}

}  // namespace yoke::simulated_scale_test
