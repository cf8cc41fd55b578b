// Simulated worlds: virtual times, the order of arrivals, repeatability.
#include "comm/simulated.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/support/values.h"

namespace yoke::simulated_test {

TEST(Simulation, TimesFollowLatencyBandwidthAndService) {
  const double end = Simulate(
      {.ranks = 2, .latency = 0.5, .bytes_per_second = 8, .service = SteadyService(100, 1e18)},
      [](const Communicator& world) {
        if (world.rank() == 0) {
          world.Charge({.operations = 300});
          world.Send(Bytes(int64_t{1}), 1, 0);
          EXPECT_DOUBLE_EQ(world.Now(), 3);
          return;
        }
        world.Receive(0, 0);
        EXPECT_DOUBLE_EQ(world.Now(), 4.5);
        EXPECT_DOUBLE_EQ(world.traffic().seconds_waited, 4.5);
        world.Sleep(1);
      });
  EXPECT_DOUBLE_EQ(end, 5.5);
}

TEST(Simulation, CopiesToADeviceTakeTimeWhereThereIsOne) {
  for (const double link : {0.0, 8.0})
    Simulate({.ranks = 1, .device_bytes_per_second = link}, [link](const Communicator& world) {
      world.Charge({.operations = 300, .device_bytes = 16});
      EXPECT_DOUBLE_EQ(world.Now(), link > 0 ? 2 : 0);
    });
  Simulate({.ranks = 1, .service = SteadyService(100, 1e18), .device_bytes_per_second = 8},
           [](const Communicator& world) {
             world.Charge({.operations = 300, .device_bytes = 16});
             EXPECT_DOUBLE_EQ(world.Now(), 5);
           });
}

TEST(Simulation, OfAnySourceTheFirstToArriveIsTakenFirst) {
  Simulate({.ranks = 4, .latency = 0.1}, [](const Communicator& world) {
    if (world.rank() > 0) {
      world.Sleep(4 - world.rank());
      return world.Send(Bytes(world.rank()), 0, 0);
    }
    for (int rank : {3, 2, 1}) EXPECT_EQ(world.Receive(kAnySource, 0).source, rank);
    EXPECT_DOUBLE_EQ(world.Now(), 3.1);
  });
}

TEST(Simulation, IsTheSameEveryTime) {
  const auto run = [] {
    std::vector<int> order;
    Simulate(
        {.ranks = 5, .latency = 0.01, .service = ExponentialService(SteadyService(1, 1), 7, 5)},
        [&order](const Communicator& world) {
          for (int i = 0; i < 20; ++i) {
            if (world.rank() == 0) {
              for (int k = 1; k < 5; ++k) order.push_back(world.Receive(kAnySource, 0).source);
            } else {
              world.Charge({.operations = 1});
              world.Send(Bytes(i), 0, 0);
            }
          }
        });
    return order;
  };
  EXPECT_EQ(run(), run());
}

TEST(Simulation, ServiceTimesHaveTheMeanTheyAreGiven) {
  const ServiceTime steady = SteadyService(2, 1e18);
  for (const ServiceTime& service :
       {ExponentialService(steady, 1, 1), LogNormalService(steady, 0.5, 1, 1)}) {
    double sum = 0;
    for (int i = 0; i < 20000; ++i) sum += service(0, {.operations = 4});
    EXPECT_NEAR(sum / 20000, 2, 0.05);
  }
}

TEST(Simulation, WorkThatTakesNoTimeDrawsNothing) {
  const auto second = [](const ServiceTime& service, bool idle) {
    service(0, {.operations = 1});
    if (idle) {
      EXPECT_EQ(service(0, {}), 0);
    }
    return service(0, {.operations = 1});
  };
  const ServiceTime steady = SteadyService(1, 1e18);
  EXPECT_EQ(second(ExponentialService(steady, 1, 1), false),
            second(ExponentialService(steady, 1, 1), true));
  EXPECT_EQ(second(LogNormalService(steady, 0.5, 1, 1), false),
            second(LogNormalService(steady, 0.5, 1, 1), true));
}

}  // namespace yoke::simulated_test
