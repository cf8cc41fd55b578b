// easgd_hogwild: one after the other it is easgd_async; at once, workers do not queue.
#include <gtest/gtest.h>

#include "strategy/support/lab.h"

namespace yoke::easgd_hogwild_test {

using test::kCount;
using test::Lab;

std::vector<std::vector<float>> Ends(const char* strategy, double& seconds) {
  std::vector<std::vector<float>> ends(4);
  // Gradients of different lengths, so that no two workers meet the centre at once.
  const ServiceTime service = [](int rank, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations * (1 + 0.1 * rank);
  };
  seconds =
      Simulate({.ranks = 4, .latency = 1e-3, .service = service}, [&](const Communicator& world) {
        Lab lab(world, {.strategy = strategy,
                        .steps = 6,
                        .gradient = test::PullToRank,
                        .seconds_of_gradient = 1});
        world.Sleep(0.01 * world.rank());
        lab.Steps();
        ends[world.rank()] = lab.Values();
        lab.strategy->Finish();
      });
  return ends;
}

TEST(EasgdHogwild, IsEasgdAsyncWhereNobodyMeets) {
  double queued = 0, free = 0;
  const auto async = Ends("easgd_async", queued), hogwild = Ends("easgd_hogwild", free);
  for (size_t rank = 0; rank < async.size(); ++rank)
    for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(async[rank][i], hogwild[rank][i], 1e-6);
}

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
