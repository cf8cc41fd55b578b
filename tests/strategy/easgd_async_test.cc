// easgd_async: its recurrence in a scripted order, and that the exchange runs beside the gradient.
#include <gtest/gtest.h>

#include "strategy/support/lab.h"

namespace yoke::easgd_async_test {

using test::kCount;
using test::Lab;

/// Two ranks whose gradients take 2 and 3 seconds; messages and updates take none. Rank 0 begins
/// first where both begin at the same time.
struct Script {
  static constexpr int kSeconds[] = {2, 3};
  static constexpr double kRate = 0.1, kForce = 0.2;

  explicit Script(const std::vector<float>& start)
      : centre(start.begin(), start.end()), x(2, centre), force(x), gradient(x) {
    for (int second = 0; second <= 12; ++second)
      for (int rank : {0, 1})
        if (second % kSeconds[rank] == 0) {
          if (second > 0) Step(rank);
          if (second < 12) View(rank);
        }
  }
  void View(int rank) {
    for (int64_t i = 0; i < kCount; ++i) {
      if (Lab::Padding(i)) continue;
      force[rank][i] = kForce * (x[rank][i] - centre[i]);
      centre[i] += force[rank][i];
      gradient[rank][i] = x[rank][i] - rank - static_cast<double>(i) / 10;
    }
  }
  void Step(int rank) {
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i)) x[rank][i] -= kRate * gradient[rank][i] + force[rank][i];
  }

  std::vector<double> centre;
  std::vector<std::vector<double>> x, force, gradient;
};

TEST(EasgdAsync, IsItsRecurrenceInAScriptedOrder) {
  const ServiceTime service = [](int rank, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations * Script::kSeconds[rank];
  };
  // Rank 1's messages take a moment, so that rank 0 is served first at the start.
  Simulate({.ranks = 2, .timeout = 1000, .latency = 1e-6, .service = service},
           [](const Communicator& world) {
             Lab lab(world, {.strategy = "easgd_async",
                             .options = Table{{"moving_rate", Script::kForce}},
                             .rate = Script::kRate,
                             .steps = 12 / Script::kSeconds[world.rank()],
                             .gradient = test::PullToRank,
                             .seconds_of_gradient = 1});
             const Script script(lab.Values());
             lab.Steps();
             EXPECT_NEAR(world.Now(), 12, 1e-3);  // nobody has waited for an exchange
             const std::vector<float> model = lab.Model();
             for (int64_t i = 0; i < kCount; ++i) {
               ASSERT_NEAR(lab.Values()[i], script.x[world.rank()][i], 1e-5);
               ASSERT_NEAR(model[i], script.centre[i], 1e-5);
             }
             lab.strategy->Finish();
           });
}

}  // namespace yoke::easgd_async_test
