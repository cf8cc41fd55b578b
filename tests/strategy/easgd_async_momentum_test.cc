// easgd_async_momentum: the force does not enter the velocity, and sgd becomes momentum.
#include <gtest/gtest.h>

#include "base/registry.h"
#include "strategy/support/lab.h"

namespace yoke::easgd_async_momentum_test {

using test::kCount;
using test::Lab;

TEST(EasgdAsyncMomentum, AsksForMomentum) {
  EXPECT_TRUE(FindEntry(strategies(), "strategy", "easgd_async_momentum").forces_momentum);
  EXPECT_FALSE(FindEntry(strategies(), "strategy", "easgd_async").forces_momentum);
}

// Rank 1 of two, in order of time; rank 0 only serves its centre, since it takes no step.
TEST(EasgdAsyncMomentum, KeepsTheForceOutOfTheVelocity) {
  constexpr double kRate = 0.1, kMomentum = 0.9, kForce = 0.3;
  Simulate({.ranks = 2, .latency = 1e-6}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_async_momentum",
                    .options = Table{{"moving_rate", kForce}},
                    .rule = "momentum",
                    .rule_options = Table{{"momentum", kMomentum}},
                    .rate = kRate,
                    .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> centre(start.begin(), start.end()), x = centre, velocity(kCount);
    for (int step = 0; world.rank() == 1 && step < 6; ++step) {
      lab.Step();
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        const double force = kForce * (x[i] - centre[i]);
        velocity[i] = kMomentum * velocity[i] + (x[i] - 1 - static_cast<double>(i) / 10);
        x[i] -= kRate * velocity[i] + force;
        centre[i] += force;
        ASSERT_NEAR(lab.Values()[i], x[i], 1e-5) << step;
      }
    }
    lab.strategy->Finish();
  });
}

}  // namespace yoke::easgd_async_momentum_test
