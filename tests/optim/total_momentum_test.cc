// TotalMomentum: of gradients in step, of gradients of a stated staleness, and what it does not
// measure.
#include "optim/total_momentum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace yoke::total_momentum_test {

constexpr int64_t kCount = 200;
using Values = std::vector<float>;

/// w(t + 1) - w(t) = momentum (w(t) - w(t - 1)) - rate g(w(t - staleness)) from w = 1, the gradient
/// that of curvatures from 0.5 to 1 with noise. Calls heard(what was measured) for each update.
template <typename Heard>
void Descend(double momentum, double rate, int64_t staleness, double noise, const Heard& heard) {
  TotalMomentum total(kCount, 8);
  std::vector<Values> w = {Values(kCount, 1)};
  Values d(kCount), g(kCount);
  Random random{3};
  for (int64_t t = 0; t < 400; ++t) {
    const int64_t late = std::min(t, staleness);
    for (int64_t i = 0; i < kCount; ++i) {
      const double h = 0.5 + 0.5 * static_cast<double>(i) / kCount;
      g[i] = static_cast<float>(h * w[t - late][i] + noise * random.Normal());
    }
    heard(total.Measure(t, late, w[t].data(), g.data(), 1));
    total.Made(rate);
    w.push_back(w[t]);
    for (int64_t i = 0; i < kCount; ++i) {
      d[i] = static_cast<float>(momentum * d[i] - rate * g[i]);
      w[t + 1][i] += d[i];
    }
  }
}

/// In step there is no more than explicit momentum, and nothing to measure.
TEST(TotalMomentum, MeasuresLateGradientsOnly) {
  Descend(0.5, 0.1, 0, 0, [](const auto& measured) { EXPECT_FALSE(measured); });
  int found = 0;
  Descend(0.5, 0.1, 3, 0, [&](const auto& measured) { found += measured.has_value(); });
  EXPECT_EQ(found, 400 - 4);
}

TEST(TotalMomentum, IsAboveTheExplicitOneByWhatLateGradientsBring) {
  // On a curvature h and values that move steadily a gradient that is s late misses h s of a move:
  // rate h s more momentum.
  for (const double momentum : {0.0, 0.6}) {
    double sum = 0;
    int count = 0;
    Descend(momentum, 0.01, 4, 0, [&](const auto& measured) {
      if (measured && ++count > 0) sum += *measured;
    });
    const double brought = sum / count - momentum;
    EXPECT_GT(brought, 0.01 * 0.5 * 4 * 0.8);
    EXPECT_LT(brought, 0.01 * 1.0 * 4 * 1.5);
  }
}

TEST(TotalMomentum, SeesThroughNoise) {
  double sum = 0;
  int count = 0;
  Descend(0.6, 0.01, 4, 1, [&](const auto& measured) {
    if (measured && ++count > 0) sum += *measured;
  });
  EXPECT_NEAR(sum / count, 0.6, 0.1);
}

TEST(TotalMomentum, LeavesOutWhatIsTooLateOrHasNotMoved) {
  TotalMomentum total(kCount, 2);
  Values w(kCount, 1), g(kCount, 1);
  for (int64_t t = 0; t < 10; ++t) {
    EXPECT_FALSE(total.Measure(t, std::min<int64_t>(t, 2), w.data(), g.data(), 1)) << t;
    total.Made(0.1);
  }
  for (int64_t t = 10; t < 20; ++t) {
    w.assign(kCount, static_cast<float>(t));
    EXPECT_FALSE(total.Measure(t, 6, w.data(), g.data(), 1)) << t;
    total.Made(0.1);
  }
}

}  // namespace yoke::total_momentum_test
