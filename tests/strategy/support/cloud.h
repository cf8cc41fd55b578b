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

}  // namespace yoke::test
