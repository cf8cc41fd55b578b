// sgp: its recurrence restated, and what push-sum keeps with and without a delay.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/cloud.h"
#include "strategy/support/told.h"

namespace yoke::sgp_test {

using test::kCount;
using test::Lab;
using test::Noise;

int Distance(int ranks, int step) {
  int hops = 1;
  while ((1 << hops) <= ranks - 1) ++hops;
  return 1 << (step % hops);
}

double GradientsOnly(int /*rank*/, const Cost& cost) {
  return cost.bytes > 0 ? 0 : cost.operations;
}

TEST(Sgp, IsItsRecurrence) {
  constexpr int kSteps = 20;
  for (const int period : {1, 2})
    for (const int ranks : {2, 3, 5})
      RunThreads({.ranks = ranks}, [&](const Communicator& world) {
        Lab lab(world, {.strategy = "sgp",
                        .options = Table{{"period", period}},
                        .gradient = test::PullToRank});
        const std::vector<float> start = lab.Values();
        std::vector<std::vector<double>> x(ranks, {start.begin(), start.end()});
        for (int step = 1; step <= kSteps; ++step) {
          const double rate = step <= kSteps / 2 ? 0.1 : 0.02;
          lab.SetRate(rate);
          lab.Step();
          for (int rank = 0; rank < ranks; ++rank)
            for (int64_t i = 0; i < kCount; ++i)
              if (!Lab::Padding(i))
                x[rank][i] -= rate * (x[rank][i] - rank - static_cast<double>(i) / 10);
          const auto before = x;
          const int distance = Distance(ranks, step / period - 1);
          for (int rank = 0; step % period == 0 && rank < ranks; ++rank)
            for (int64_t i = 0; i < kCount; ++i)
              x[rank][i] = (before[rank][i] + before[(rank - distance + ranks) % ranks][i]) / 2;
          test::ExpectTold(lab.Values(), x[world.rank()]);
        }
        lab.strategy->Finish();
      });
}

// Without gradients, and messages that take several steps: the sum of the weights stays P, and
// everybody finds the mean.
TEST(Sgp, WithDelaysKeepsTheSumOfWeightsAndFindsTheMean) {
  for (const bool overlap : {false, true}) {
    constexpr int kRanks = 6;
    std::vector<double> mean(kCount);
    std::vector<std::vector<float>> ends(kRanks);
    double weights = 0;
    Simulate({.ranks = kRanks, .latency = 2.5, .service = GradientsOnly},
             [&](const Communicator& world) {
               Lab lab(world, {.strategy = "sgp",
                               .options = Table{{"overlap", overlap}},
                               .rate = 0,
                               .steps = 60,
                               .gradient = test::PullToRank,
                               .seconds_of_gradient = 1.0 + 0.3 * world.rank()});
               for (int64_t i = 0; i < kCount; ++i) {
                 lab.params.values().Host()[i] = Lab::Padding(i) ? 0 : Noise(world.rank(), i, 1);
                 mean[i] += lab.params.values().Host()[i] / kRanks;
               }
               lab.Steps();
               lab.strategy->Quiesce();
               weights += *lab.strategy->State().Find("weight")->AsFloat();
               ends[world.rank()] = lab.Values();
               lab.strategy->Finish();
             });
    EXPECT_NEAR(weights, kRanks, 1e-12);
    for (const auto& end : ends)
      for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(end[i], mean[i], 1e-4) << overlap;
  }
}

// The exchange of an overlapping step is hidden by the next gradient.
TEST(Sgp, OverlapHidesTheExchange) {
  const auto seconds = [](bool overlap) {
    return Simulate({.ranks = 4, .latency = 0.5, .service = GradientsOnly},
                    [overlap](const Communicator& world) {
                      Lab lab(world, {.strategy = "sgp",
                                      .options = Table{{"overlap", overlap}},
                                      .steps = 20,
                                      .gradient = test::PullToRank,
                                      .seconds_of_gradient = 1});
                      lab.Steps();
                      lab.strategy->Finish();
                    });
  };
  EXPECT_NEAR(seconds(false), 30, 3);
  EXPECT_NEAR(seconds(true), 20, 3);
}

}  // namespace yoke::sgp_test
