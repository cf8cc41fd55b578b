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
  EXPECT_TRUE(FindEntry(strategies(), "strategy", "easgd_async_momentum").sums_steps({}));
  EXPECT_FALSE(FindEntry(strategies(), "strategy", "easgd_async").sums_steps({}));
}

constexpr double kRate = 0.1, kLaterRate = 0.02, kMomentum = 0.9, kForce = 0.3;
constexpr int kRanks = 3, kSteps = 20;
constexpr double kSeconds[kRanks] = {1, 1.3717, 0.4931};  // of a gradient
constexpr double StartOf(int rank) { return 0.01 * rank; }

/// Equations 5 and 6 of SC17 for PullToRank, in the order in which steps begin.
struct Restated {
  explicit Restated(const std::vector<float>& start)
      : centre(start.begin(), start.end()), x(kRanks, centre), v(kRanks) {
    for (std::vector<double>& each : v) each.resize(kCount);
  }

  void Run() {
    int steps[kRanks] = {};
    for (int taken = 0; taken < kRanks * kSteps; ++taken) {
      int next = -1;
      for (int rank = 0; rank < kRanks; ++rank)
        if (steps[rank] < kSteps && (next < 0 || Time(rank, steps[rank]) < Time(next, steps[next])))
          next = rank;
      Step(next, steps[next]++ < kSteps / 2 ? kRate : kLaterRate);
    }
  }

  std::vector<double> centre;
  std::vector<std::vector<double>> x, v;

 private:
  static double Time(int rank, int step) { return StartOf(rank) + step * kSeconds[rank]; }

  void Step(int rank, double rate) {
    for (int64_t i = 0; i < kCount; ++i) {
      if (Lab::Padding(i)) continue;
      const double force = kForce * (x[rank][i] - centre[i]);
      v[rank][i] = kMomentum * v[rank][i] - rate * (x[rank][i] - rank - i / 10.0);
      x[rank][i] += v[rank][i] - force;
      centre[i] += force;
    }
  }
};

TEST(EasgdAsyncMomentum, IsItsRecurrenceWhereTheRateChanges) {
  std::vector<float> start, centre;
  std::vector<std::vector<float>> ends(kRanks);
  const ServiceTime service = [](int rank, const Cost& cost) {
    return cost.bytes > 0 ? 0 : kSeconds[rank] * cost.operations;
  };
  Simulate({.ranks = kRanks, .timeout = 1e6, .latency = 1e-5, .service = service},
           [&](const Communicator& world) {
             Lab lab(world, {.strategy = "easgd_async_momentum",
                             .options = Table{{"moving_rate", kForce}},
                             .rule = "momentum",
                             .rule_options = Table{{"momentum", kMomentum}, {"velocity", "steps"}},
                             .rate = kRate,
                             .later_rate = kLaterRate,
                             .steps = kSteps,
                             .gradient = test::PullToRank,
                             .seconds_of_gradient = 1});
             if (world.rank() == 0) start = lab.Values();
             world.Sleep(StartOf(world.rank()));
             lab.Steps();
             ends[world.rank()] = lab.Values();
             const std::vector<float> model = lab.Model();
             if (world.rank() == 0) centre = model;
             lab.strategy->Finish();
           });
  Restated restated(start);
  restated.Run();
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_NEAR(centre[i], restated.centre[i], 2e-6) << i;
    for (int rank = 0; rank < kRanks; ++rank)
      EXPECT_NEAR(ends[rank][i], restated.x[rank][i], 2e-6) << "rank " << rank;
  }
}

// Rank 1 of two, in order of time; rank 0 only serves its centre, since it takes no step.
TEST(EasgdAsyncMomentum, KeepsTheForceOutOfTheVelocity) {
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
