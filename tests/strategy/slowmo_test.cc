// slowmo: its recurrence restated with momentum that starts anew, and what beta = 0 is.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/lab.h"

namespace yoke::slowmo_test {

using test::kCount;
using test::Lab;

TEST(SlowMo, IsItsRecurrence) {
  constexpr double kRate = 0.1, kMomentum = 0.9, kBeta = 0.6, kAlpha = 0.8;
  constexpr int kRanks = 2, kPeriod = 3;
  RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
    Lab lab(world,
            {.strategy = "slowmo",
             .options = Table{{"period", kPeriod}, {"slow_momentum", kBeta}, {"slow_rate", kAlpha}},
             .rule = "momentum",
             .rule_options = Table{{"momentum", kMomentum}},
             .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> common(start.begin(), start.end()), slow(kCount);
    for (int round = 0; round < 3; ++round) {
      for (int step = 0; step < kPeriod; ++step) lab.Step();
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        double change = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          double x = common[i], velocity = 0;
          for (int step = 0; step < kPeriod; ++step) {
            velocity = kMomentum * velocity + (x - rank - static_cast<double>(i) / 10);
            x -= kRate * velocity;
          }
          change += (common[i] - x) / kRanks;
        }
        slow[i] = kBeta * slow[i] + change / kRate;
        common[i] -= kAlpha * kRate * slow[i];
        ASSERT_NEAR(lab.Values()[i], common[i], 1e-4) << round;
      }
    }
    lab.strategy->Finish();
  });
}

TEST(SlowMo, WithoutSlowMomentumItAverages) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    Lab slow(world, {.strategy = "slowmo",
                     .options = Table{{"period", 4}, {"slow_momentum", 0.0}},
                     .steps = 8,
                     .gradient = test::PullToRank});
    Lab local(world, {.strategy = "local_sgd",
                      .options = Table{{"period", 4}},
                      .steps = 8,
                      .gradient = test::PullToRank});
    slow.Steps();
    local.Steps();
    for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(slow.Values()[i], local.Values()[i], 1e-5);
    slow.strategy->Finish();
    local.strategy->Finish();
  });
}

}  // namespace yoke::slowmo_test
