// Work ahead of the others (WorkAhead): the times and the order of arrivals are those of Work.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "comm/simulated.h"
#include "comm/simulated/timeline.h"
#include "comm/support/deaths.h"
#include "comm/support/values.h"
#include "comm/virtual_time.h"

namespace yoke::simulated_ahead_test {

using Event = std::tuple<int, int, double>;  // rank, source, time

constexpr int kRounds = 30;

/// Each round: a rank computes in pieces, sends to a drawn rank, and takes what has come.
void Play(const Communicator& world, bool ahead, std::vector<Event>& events) {
  std::mt19937 random(world.rank());
  std::uniform_real_distribution<double> piece(0, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 4; ++i) {
      const double seconds = i == 2 ? 0 : piece(random);
      const WorkPlace place = {.device = random() % 8 == 0 ? "emulated:0" : "cpu"};
      ahead ? VirtualTime(world).WorkAhead(seconds, place)
            : VirtualTime(world).Work(seconds, place);
      if (i == 1) events.emplace_back(world.rank(), -1, world.Now());
    }
    const bool catches_up = random() % 2 == 0;
    if (ahead && catches_up) VirtualTime(world).CatchUp();
    world.Send(Bytes(round), static_cast<int>(random() % world.size()), 0);
    Message message;
    while (world.TryReceive(kAnySource, 0, message))
      events.emplace_back(world.rank(), message.source, world.Now());
  }
  world.Barrier();
}

struct Played {
  std::vector<Event> events;
  double end = 0;
  double computing = 0;  // the fraction of rank 0
};

Played Run(SimulatedRanks cluster, bool ahead) {
  Played played;
  Timeline timeline({.ranks = cluster.ranks});
  cluster.timeline = &timeline;
  played.end = SimulateLosses(cluster, [&](const Communicator& world, const SimulatedPlace&) {
    Play(world, ahead, played.events);
  });
  std::ranges::sort(played.events);
  played.computing =
      timeline.Picture().lanes[0].fractions[static_cast<size_t>(Activity::kComputing)];
  return played;
}

void ExpectEqual(const SimulatedRanks& cluster) {
  const Played work = Run(cluster, false), ahead = Run(cluster, true);
  EXPECT_EQ(work.events, ahead.events);
  EXPECT_GT(work.events.size(), kRounds * cluster.ranks);
  EXPECT_EQ(work.end, ahead.end);
  EXPECT_NEAR(work.computing, ahead.computing, 1e-9);
}

SimulatedRanks Cluster() {
  return {.ranks = 5, .latency = 0.3, .bytes_per_second = 4, .service = SteadyService(1, 1)};
}

TEST(WorkAhead, GivesTheTimesAndArrivalsOfWork) { ExpectEqual(Cluster()); }

TEST(WorkAhead, WaitsItsTurnOnASharedCore) {
  SimulatedRanks cluster = Cluster();
  cluster.ranks_per_node = 2;
  cluster.cores = 1;
  ExpectEqual(cluster);
}

TEST(WorkAhead, EndsAtTheDeathOfItsNode) {
  SimulatedRanks cluster = Cluster();
  cluster.failures = test::DeathsAt({{1, 7.7}, {3, 25}}, 0.5, 1);
  ExpectEqual(cluster);
}

TEST(WorkAhead, IsCaughtUpBeforeOthersSeeTheRank) {
  Simulate({.ranks = 2, .latency = 0.5, .service = SteadyService(1, 1)},
           [](const Communicator& world) {
             if (world.rank() == 1) {
               world.Sleep(1);
               return world.Send(Bytes(7), 0, 0);
             }
             VirtualTime(world).WorkAhead(1);
             EXPECT_EQ(world.Now(), 1);
             Message message;
             EXPECT_FALSE(world.TryReceive(1, 0, message));  // arrives at 1.5
             VirtualTime(world).WorkAhead(1);
             ASSERT_TRUE(world.TryReceive(1, 0, message));
             EXPECT_EQ(world.Now(), 2);
           });
}

}  // namespace yoke::simulated_ahead_test
