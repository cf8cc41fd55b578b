// Cloud: replicas at random values, and what rounds of averaging without gradients make of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "strategy/support/lab.h"

namespace yoke::test {

/// The values of all ranks after some rounds without gradients, from random values with mean 0.
struct Cloud {
  std::vector<std::vector<float>> values;

  std::vector<double> Mean() const {
    std::vector<double> mean(kCount);
    for (const auto& x : values)
      for (int64_t i = 0; i < kCount; ++i) mean[i] += x[i] / static_cast<double>(values.size());
    return mean;
  }
  /// E |x_i - mean|^2 over ranks.
  double Consensus() const {
    const std::vector<double> mean = Mean();
    double sum = 0;
    for (const auto& x : values)
      for (int64_t i = 0; i < kCount; ++i) sum += (x[i] - mean[i]) * (x[i] - mean[i]);
    return sum / static_cast<double>(values.size());
  }
};

inline float Noise(int rank, int64_t i, uint64_t seed) {
  Random random({seed, static_cast<uint64_t>(rank), static_cast<uint64_t>(i)});
  return static_cast<float>(random.Normal());
}

/// Rounds in step: every rank's gradient takes a second, messages take no time.
inline void Rounds(int ranks, const std::string& strategy, const Table& options, int64_t rounds,
                   uint64_t seed, Cloud& before, Cloud& after) {
  before.values.assign(ranks, {});
  after.values.assign(ranks, {});
  const ServiceTime service = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = ranks, .service = service}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = strategy,
                    .options = options,
                    .rate = 0,
                    .steps = rounds,
                    .gradient = test::PullToRank,
                    .seconds_of_gradient = 1,
                    .seed = seed});
    for (int64_t i = 0; i < kCount; ++i)
      lab.params.values().Host()[i] = Lab::Padding(i) ? 0 : Noise(world.rank(), i, seed);
    before.values[world.rank()] = lab.Values();
    lab.Steps();
    lab.strategy->Quiesce();
    after.values[world.rank()] = lab.Values();
    lab.strategy->Finish();
  });
}

/// Two ranks in step are each other's only peers, so that the recurrence needs no draws:
///   x_i <- (x_i + x_j) / 2 - rate g(x_i), both from before the step.
inline void ExpectHalfway(const std::string& strategy) {
  std::vector<std::vector<double>> x(2, std::vector<double>(kCount));
  std::vector<std::vector<float>> ends(2);
  Simulate({.ranks = 2, .service = SteadyService(1, 1e30)}, [&](const Communicator& world) {
    Lab lab(world,
            {.strategy = strategy, .steps = 5, .gradient = PullToRank, .seconds_of_gradient = 1});
    const std::vector<float> start = lab.Values();
    x[world.rank()].assign(start.begin(), start.end());
    lab.Steps();
    ends[world.rank()] = lab.Values();
    lab.strategy->Finish();
  });
  for (int step = 0; step < 5; ++step) {
    const auto before = x;
    for (int rank : {0, 1})
      for (int64_t i = 0; i < kCount; ++i)
        if (!Lab::Padding(i))
          x[rank][i] = (before[rank][i] + before[1 - rank][i]) / 2 -
                       0.1 * (before[rank][i] - rank - static_cast<double>(i) / 10);
  }
  for (int rank : {0, 1})
    for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(ends[rank][i], x[rank][i], 1e-5);
}

}  // namespace yoke::test
