// diloco: its recurrence restated with an inner rule of momentum that is kept, and its period.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/lab.h"

namespace yoke::diloco_test {

using test::kCount;
using test::Lab;

TEST(DiLoCo, IsItsRecurrence) {
  constexpr double kRate = 0.05, kMomentum = 0.5, kOuterRate = 0.6, kOuterMomentum = 0.8;
  constexpr int kRanks = 3, kPeriod = 4;
  RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "diloco",
                    .options = Table{{"period", kPeriod},
                                     {"outer_rate", kOuterRate},
                                     {"outer_momentum", kOuterMomentum}},
                    .rule = "momentum",
                    .rule_options = Table{{"momentum", kMomentum}},
                    .rate = kRate,
                    .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> theta(start.begin(), start.end()), v(kCount);
    std::vector<std::vector<double>> velocity(kRanks, std::vector<double>(kCount));
    for (int round = 0; round < 3; ++round) {
      for (int step = 0; step < kPeriod; ++step) lab.Step();
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        double delta = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          double x = theta[i];
          for (int step = 0; step < kPeriod; ++step) {
            double& u = velocity[rank][i];
            u = kMomentum * u + (x - rank - static_cast<double>(i) / 10);
            x -= kRate * u;
          }
          delta += (theta[i] - x) / kRanks;
        }
        v[i] = kOuterMomentum * v[i] + delta;
        theta[i] -= kOuterRate * (delta + kOuterMomentum * v[i]);
        ASSERT_NEAR(lab.Values()[i], theta[i], 1e-4) << round;
      }
    }
    lab.strategy->Finish();
  });
}

TEST(DiLoCo, MeetsFourTimesAnEpochThatIsShort) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "diloco",
                    .rate = 0.01,
                    .steps = 80,
                    .steps_per_epoch = 80,
                    .gradient = test::PullToRank});
    lab.Steps();
    if (world.rank() == 0) {
      EXPECT_EQ(lab.strategy->Counts().updates, 4);
    }
    lab.strategy->Finish();
  });
}

}  // namespace yoke::diloco_test
