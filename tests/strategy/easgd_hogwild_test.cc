// easgd_hogwild: workers that come at once do not queue.
#include <gtest/gtest.h>

#include "strategy/support/lab.h"

namespace yoke::easgd_hogwild_test {

using test::Lab;

// All arrive at once, and a meeting takes a second of rank 0's time.
TEST(EasgdHogwild, ServesAllAtOnce) {
  const auto seconds = [](const char* strategy) {
    const ServiceTime service = [](int rank, const Cost& cost) {
      return rank == 0 && cost.bytes > 0 ? 1.0 : 0.0;
    };
    return Simulate({.ranks = 5, .service = service}, [strategy](const Communicator& world) {
      Lab lab(world, {.strategy = strategy, .gradient = test::PullToRank});
      if (world.rank() > 0) lab.Step();
      lab.strategy->Finish();
    });
  };
  EXPECT_NEAR(seconds("easgd_async"), 4, 0.01);
  EXPECT_NEAR(seconds("easgd_hogwild"), 1, 0.01);
}

}  // namespace yoke::easgd_hogwild_test
