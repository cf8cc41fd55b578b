// easgd_async: the exchange runs beside the gradient.
#include <gtest/gtest.h>

#include "strategy/support/lab.h"

namespace yoke::easgd_async_test {

using test::Lab;

TEST(EasgdAsync, ExchangesBesideTheGradient) {
  constexpr int kSeconds[] = {2, 3};
  const ServiceTime service = [&](int rank, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations * kSeconds[rank];
  };
  Simulate({.ranks = 2, .timeout = 1000, .latency = 1e-6, .service = service},
           [&](const Communicator& world) {
             Lab lab(world, {.strategy = "easgd_async",
                             .steps = 12 / kSeconds[world.rank()],
                             .gradient = test::PullToRank,
                             .seconds_of_gradient = 1});
             lab.Steps();
             EXPECT_NEAR(world.Now(), 12, 1e-3);  // nobody has waited
             lab.strategy->Finish();
           });
}

}  // namespace yoke::easgd_async_test
