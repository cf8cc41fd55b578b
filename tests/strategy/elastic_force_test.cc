// The elastic force by rho: each step's a is rho times its learning rate.
#include <gtest/gtest.h>

#include "base/check.h"
#include "strategy/support/lab.h"

namespace yoke::elastic_force_test {

using test::kCount;
using test::Lab;

constexpr int kRanks = 3, kSteps = 20;
constexpr double kRho = 2.5;

double RateOf(int step) { return step < kSteps / 2 ? 0.1 : 0.02; }

/// Equations 1 and 2 of SC17 for PullToRank, in double: at once, or by one worker after the other.
struct Restated {
  Restated(const std::vector<float>& start, bool in_turn)
      : centre(start.begin(), start.end()), x(kRanks, centre), in_turn(in_turn) {}

  void Step(double rate) {
    const std::vector<double> before = centre;
    for (int rank = 0; rank < kRanks; ++rank)
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        const double force = rate * kRho * (x[rank][i] - (in_turn ? centre : before)[i]);
        x[rank][i] -= rate * (x[rank][i] - rank - static_cast<double>(i) / 10) + force;
        centre[i] += force;
      }
  }

  std::vector<double> centre;
  std::vector<std::vector<double>> x;
  const bool in_turn;
};

TEST(ElasticForce, FollowsTheLearningRate) {
  for (const char* strategy : {"easgd_sync1", "easgd_sync2", "easgd_sync3", "easgd_original"}) {
    SCOPED_TRACE(strategy);
    RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
      Lab lab(
          world,
          {.strategy = strategy, .options = Table{{"rho", kRho}}, .gradient = test::PullToRank});
      Restated restated(lab.Values(), std::string_view(strategy) == "easgd_original");
      for (int step = 0; step < kSteps; ++step) {
        lab.SetRate(RateOf(step));
        lab.Step();
        restated.Step(RateOf(step));
        for (int64_t i = 0; i < kCount; ++i)
          ASSERT_NEAR(lab.Values()[i], restated.x[world.rank()][i], 1e-6) << step;
      }
      const std::vector<float> model = lab.Model();
      for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(model[i], restated.centre[i], 1e-6);
      lab.strategy->Finish();
    });
  }
}

/// Without others, each worker's move takes what the centre gains, whatever the order.
TEST(ElasticForce, IsTheWorkersOwnWhereTheyComeAsTheyPlease) {
  for (const char* strategy : {"easgd_async", "easgd_hogwild"}) {
    SCOPED_TRACE(strategy);
    RunThreads({.ranks = 2}, [&](const Communicator& world) {
      Lab lab(world, {.strategy = strategy,
                      .options = Table{{"rho", 1.0}},
                      .rate = 0.25 * (1 + world.rank()),
                      .gradient = [](const test::Asked& asked) {
                        std::fill_n(asked.gradient, kCount, 0.0F);
                      }});
      const std::vector<float> before = lab.Values();
      for (int64_t i = 0; i < kCount; ++i)
        if (!Lab::Padding(i)) lab.params.values().Host()[i] += 1;
      if (world.rank() == 0) lab.Step();  // it meets the centre first
      world.Barrier();
      if (world.rank() == 1) lab.Step();
      // Rank 0 gives a quarter of 1 to the centre, and rank 1 a half of what is left to it.
      const float moved = world.rank() == 0 ? 0.25F : 0.5F * 0.75F;
      for (int64_t i = 0; i < kCount; ++i)
        if (!Lab::Padding(i)) {
          EXPECT_NEAR(lab.Values()[i], before[i] + 1 - moved, 1e-6);
        }
      lab.strategy->Finish();
    });
  }
}

TEST(ElasticForce, IsOneKeyOfTwo) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    EXPECT_THROW(Lab(world, {.strategy = "easgd_sync1",
                             .options = Table{{"rho", 1.0}, {"moving_rate", 0.1}}}),
                 UserError);
  });
}

TEST(ElasticForce, OvershootsNoCentre) {
  RunThreads({.ranks = 4}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_sync1", .options = Table{{"rho", 5.0}}});
    EXPECT_THROW(lab.strategy->View({.learning_rate = 0.1, .highest_rate = 0.1}), UserError);
  });
}

}  // namespace yoke::elastic_force_test
