// Laws of asynchronous methods, in virtual time.
#include <gtest/gtest.h>

#include "strategy/support/lab.h"

namespace yoke::laws_test {

/// A quadratic whose curvature and optimum differ from number to number.
void Quadratic(const test::Asked& asked) {
  for (int64_t i = 0; i < test::kCount; ++i)
    asked.gradient[i] = test::Lab::Padding(i) ? 0
                                              : (0.5F + static_cast<float>(i % 3) / 2) *
                                                    (asked.values[i] - static_cast<float>(i));
}

using Trajectory = std::vector<std::vector<double>>;  // values after each update, the first before

/// Adds the server's values, update by update, of one run with exponential times of a gradient.
void AddRun(const char* form, double rate, int workers, uint64_t seed, Trajectory& sums) {
  const auto updates = static_cast<int64_t>(sums.size());
  int64_t reads = 0;
  test::LabSettings settings{
      .strategy = "async_sgd", .options = {{"form", form}}, .rate = rate, .seconds_of_gradient = 1};
  settings.gradient = [&](const test::Asked& asked) {
    // The first read of each worker is of the first values, every later one follows its own push.
    const int64_t update = std::max<int64_t>(0, ++reads - workers);
    if (update < updates && (update > 0 || asked.rank == 0))
      for (int64_t i = 0; i < test::kCount; ++i) sums[update][i] += asked.values[i];
    Quadratic(asked);
  };
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = workers, .service = ExponentialService(gradients_only, seed, workers)},
           [&](const Communicator& world) {
             test::Lab lab(world, settings);
             while (reads < updates + workers) lab.Step();
           });
}

/// mu and a of d(t) = mu d(t - 1) - a g(w(t)), d(t) = w(t + 1) - w(t), by least squares.
struct Fit {
  double momentum = 0;
  double rate = 0;
};
Fit FitMomentum(const Trajectory& w) {
  double dd = 0, gg = 0, dg = 0, yd = 0, yg = 0;
  for (size_t t = 1; t + 1 < w.size(); ++t)
    for (int64_t i = 0; i < test::kCount; ++i) {
      if (test::Lab::Padding(i)) continue;
      const double y = w[t + 1][i] - w[t][i], d = w[t][i] - w[t - 1][i];
      const double g = (0.5 + static_cast<double>(i % 3) / 2) * (w[t][i] - static_cast<double>(i));
      dd += d * d, gg += g * g, dg += d * g, yd += y * d, yg += y * g;
    }
  const double determinant = dd * gg - dg * dg;
  return {.momentum = (yd * gg - yg * dg) / determinant, .rate = (yd * dg - yg * dd) / determinant};
}

/// E[w(t + 1) - w(t)] = (1 - 1/g) E[w(t) - w(t - 1)] - (c rate / g) E[gradient at w(t)]:
/// Mitliagkas, Zhang, Hadjis, Re, "Asynchrony begets Momentum" (2016).
void ExpectAsynchronyIsMomentum(const char* form, double (*c_of)(int workers), double moves) {
  for (const int workers : {2, 4, 8, 16}) {
    const int runs = 300;
    const double c = c_of(workers), rate = moves / workers / c;
    Trajectory sums(40, std::vector<double>(test::kCount));
    for (int run = 0; run < runs; ++run) AddRun(form, rate, workers, 1000 * workers + run, sums);
    for (auto& values : sums)
      for (double& value : values) value /= runs;
    const Fit fit = FitMomentum(sums);
    EXPECT_NEAR(fit.momentum, 1 - 1.0 / workers, 0.02) << form << ", " << workers << " workers";
    EXPECT_NEAR(fit.rate * workers / (c * rate), 1, 0.2) << form << ", " << workers << " workers";
    testing::Test::RecordProperty("momentum_of_" + std::to_string(workers) + "_" + form,
                                  std::to_string(fit.momentum));
  }
}

TEST(Laws, AsynchronyIsMomentum) {
  ExpectAsynchronyIsMomentum(
      "yoke", [](int workers) { return 1.0 / workers; }, 0.5);
  ExpectAsynchronyIsMomentum(
      "paper", [](int /*workers*/) { return 1.0; }, 0.6);
}

}  // namespace yoke::laws_test
