// yellowfin at servers: feedback brings the total momentum to its target, the rule alone is that of
// none, a served head has scalars of its own, and runs go on from checkpoints.
#include "optim/rules/yellowfin_tuner.h"

#include <cmath>

#include "base/random.h"
#include "strategy/support/served_tests.h"

namespace yoke::yellowfin_test {

using test::kCount;
using test::Lab;

constexpr const char* kServers[] = {"async_sgd", "async_msgd", "compute_groups", "hogwild_sgd"};

/// How far momenta are above the target in a run of async_sgd on a noisy quadratic. Measured here,
/// not as the server does: the values after each update are what the worker that pushed reads next.
struct Excess {
  double total = 0;  ///< Of w(t+1) - w(t) + rate g(w(t)) on w(t) - w(t-1), by least squares.
  double own = 0;    ///< Of the explicit momentum.
  double staleness = 0;
};
Excess MeasureExcess(int workers, double feedback) {
  constexpr int64_t kUpdates = 8000, kFrom = 4000;
  constexpr double kRate = 3, kCurvature = 1.2;  // one, so that all elements have one momentum
  struct Read {
    std::vector<double> values, gradient;
    YellowFinMemory memory = {};  // after the update that made the values
  };
  std::vector<Read> reads;
  Excess result;
  test::LabSettings settings{.strategy = "async_sgd",
                             .options = {{"rate_scale", 1.0}},
                             .rule = "yellowfin",
                             .rule_options = {{"feedback", feedback}},
                             .rate = kRate,
                             .seconds_of_gradient = 1};
  RuleState* state = nullptr;  // the server's: one rank runs at a time
  Random random{11};
  settings.gradient = [&](const test::Asked& asked) {
    Read read{.values = std::vector<double>(asked.values, asked.values + kCount),
              .gradient = std::vector<double>(kCount)};
    for (int64_t i = 0; i < kCount; ++i) {
      const double pull = kCurvature * (asked.values[i] - static_cast<double>(i) / 10);
      read.gradient[i] = Lab::Padding(i) ? 0 : pull + 0.2 * random.Normal();
      asked.gradient[i] = static_cast<float>(read.gradient[i]);
    }
    if (!state) return;
    read.memory = ReadYellowFin(state->scalars());
    reads.push_back(std::move(read));
  };
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = workers, .service = ExponentialService(gradients_only, 5, workers)},
           [&](const Communicator& world) {
             Lab lab(world, settings);
             if (world.rank() == 0) state = &lab.state;
             while (std::ssize(reads) < kUpdates + workers) lab.Step();
             lab.strategy->Quiesce();
             if (world.rank() > 0) return;
             const ExchangeCounts counts = lab.strategy->Counts();
             for (size_t s = 0; s < counts.staleness.size(); ++s)
               result.staleness += static_cast<double>(s * counts.staleness[s]) /
                                   static_cast<double>(counts.updates);
             state = nullptr;
           });
  double moved = 0;
  for (int64_t t = kFrom; t + 1 < kUpdates; ++t)
    for (int64_t i = 0; i < kCount; ++i) {
      const YellowFinMemory& memory = reads[t].memory;
      const double before = reads[t].values[i] - reads[t - 1].values[i];
      const double after = reads[t + 1].values[i] - reads[t].values[i];
      const double pulled = kRate * memory.rate * reads[t].gradient[i];
      moved += before * before;
      result.total += before * (after + pulled - memory.target * before);
      result.own += before * before * (memory.momentum - memory.target);
    }
  result.total /= moved;
  result.own /= moved;
  return result;
}

TEST(YellowFin, FeedbackBringsTheTotalMomentumOfAnAsynchronousServerToItsTarget) {
  for (const int workers : {4, 8}) {
    const Excess open = MeasureExcess(workers, 0), closed = MeasureExcess(workers, 0.01);
    EXPECT_NEAR(open.staleness, workers - 1, 0.2);
    EXPECT_EQ(open.own, 0);
    EXPECT_GT(open.total, 0.15) << workers;
    EXPECT_NEAR(closed.total, 0, 0.03) << workers;
    EXPECT_LT(closed.own, -0.15) << workers;
  }
}

TEST(YellowFin, IsTheRuleAloneWithOneRank) {
  for (const char* strategy : kServers) {
    SCOPED_TRACE(strategy);
    test::ExpectNoneAlone({.strategy = strategy, .rule = "yellowfin", .rate = 1});
  }
}

TEST(YellowFin, DescendsWithEveryServerOverThreads) {
  for (const char* strategy : kServers) {
    SCOPED_TRACE(strategy);
    test::LabSettings settings{
        .strategy = strategy, .rule = "yellowfin", .rate = 1, .gradient = test::PullTogether};
    RunThreads({.ranks = 4}, [&](const Communicator& world) {
      Lab lab(world, settings);
      const std::vector<float> first = lab.Model();
      for (int step = 0; step < 500; ++step) lab.Step();
      const std::vector<float> model = lab.Model();
      double before = 0, after = 0;
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        before += std::pow(first[i] - static_cast<double>(i) / 10, 2);
        after += std::pow(model[i] - static_cast<double>(i) / 10, 2);
      }
      EXPECT_LT(after, 0.01 * before);
      lab.strategy->Finish();
    });
  }
}

TEST(YellowFin, AServedHeadHasNumbersOfItsOwn) {
  const test::LabHead head = test::HeadThatPulls();
  test::LabSettings settings{.strategy = "compute_groups",
                             .options = {{"served_head", true}},
                             .rule = "yellowfin",
                             .rate = 1,
                             .gradient = test::PullToRank,
                             .head = &head};
  RunThreads({.ranks = 1}, [&](const Communicator& world) {
    Lab lab(world, settings);
    for (int step = 0; step < 10; ++step) lab.Step();
    lab.Model();
    EXPECT_EQ(ReadYellowFin(lab.state.scalars()).updates, 10);
    EXPECT_EQ(ReadYellowFin(lab.state.scalars()).elements, test::kFirst);
    EXPECT_EQ(ReadYellowFin(lab.state.head_scalars()).updates, 10);
    EXPECT_EQ(ReadYellowFin(lab.state.head_scalars()).elements, test::kSecond);
    lab.strategy->Finish();
  });
}

}  // namespace yoke::yellowfin_test
