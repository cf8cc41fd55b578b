// easgd_original: its recurrence restated, and the time of its turns.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/lab.h"

namespace yoke::easgd_original_test {

using test::kCount;
using test::Lab;

TEST(EasgdOriginal, IsItsRecurrence) {
  constexpr int kRanks = 3, kSteps = 4;
  constexpr double kRate = 0.1, kForce = 0.25;
  RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_original",
                    .options = Table{{"moving_rate", kForce}},
                    .rate = kRate,
                    .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> centre(start.begin(), start.end());
    std::vector<std::vector<double>> x(kRanks, centre);
    for (int step = 0; step < kSteps; ++step) {
      lab.Step();
      for (int rank = 0; rank < kRanks; ++rank)  // one worker after the other
        for (int64_t i = 0; i < kCount; ++i) {
          if (Lab::Padding(i)) continue;
          const double force = kForce * (x[rank][i] - centre[i]);
          x[rank][i] -= kRate * (x[rank][i] - rank - static_cast<double>(i) / 10) + force;
          centre[i] += force;
        }
      for (int64_t i = 0; i < kCount; ++i)
        ASSERT_NEAR(lab.Values()[i], x[world.rank()][i], 1e-5) << step;
    }
    const std::vector<float> model = lab.Model();
    for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(model[i], centre[i], 1e-5);
    lab.strategy->Finish();
  });
}

// The master meets one worker at a time: P - 1 times |W| down and |W| up.
TEST(EasgdOriginal, TakesTheTimeOfAllTurns) {
  constexpr double kBytes = 64 * 4, kBandwidth = kBytes / 100;  // packed: a model takes 100 s
  for (const int ranks : {2, 4, 8}) {
    const double seconds = Simulate(
        {.ranks = ranks, .timeout = 1e6, .bytes_per_second = kBandwidth},
        [](const Communicator& world) {
          Lab lab(world, {.strategy = "easgd_original", .steps = 5, .gradient = test::PullToRank});
          lab.Steps();
          lab.strategy->Finish();
        });
    const double model = kBytes / kBandwidth;
    EXPECT_NEAR(seconds, 5 * (ranks - 1) * 2 * model, 0.05 * seconds) << ranks;
  }
}

}  // namespace yoke::easgd_original_test
