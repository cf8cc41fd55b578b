// local_sgd: its recurrence restated, the post-local switch, and its default period.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/lab.h"
#include "strategy/support/told.h"

namespace yoke::local_sgd_test {

using test::kCount;
using test::Lab;

using Replicas = std::vector<std::vector<double>>;

void LocalSteps(Replicas& x, double rate) {
  for (size_t rank = 0; rank < x.size(); ++rank)
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i))
        x[rank][i] -= rate * (x[rank][i] - static_cast<double>(rank) - static_cast<double>(i) / 10);
}

void Average(Replicas& x) {
  for (int64_t i = 0; i < kCount; ++i) {
    double sum = 0;
    for (const auto& replica : x) sum += replica[i];
    for (auto& replica : x) replica[i] = sum / static_cast<double>(x.size());
  }
}

/// Runs steps at these rates, one call of Step each, and compares with the restatement.
void Compare(const Table& options, const std::vector<double>& rates,
             const std::vector<bool>& averages) {
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "local_sgd", .options = options, .gradient = test::PullToRank});
    Replicas x(3);
    for (auto& replica : x) {
      const std::vector<float> start = lab.Values();
      replica.assign(start.begin(), start.end());
    }
    for (size_t step = 0; step < rates.size(); ++step) {
      lab.SetRate(rates[step]);
      lab.Step();
      LocalSteps(x, rates[step]);
      if (averages[step]) Average(x);
      test::ExpectTold(lab.Values(), x[world.rank()]);
    }
    lab.strategy->Finish();
  });
}

TEST(LocalSgd, IsItsRecurrence) {
  std::vector<double> rates(20, 0.1);
  std::vector<bool> averages;
  for (int step = 1; step <= 20; ++step) averages.push_back(step % 3 == 0);
  std::fill(rates.begin() + 10, rates.end(), 0.02);
  Compare(Table{{"period", 3}}, rates, averages);
}

TEST(LocalSgd, AveragesEveryStepUntilTheRateIsCut) {
  Compare(Table{{"period", 2}, {"post_local", true}}, {0.1, 0.2, 0.15, 0.1, 0.1, 0.1},
          {true, true, true, false, true, false});
}

TEST(LocalSgd, AveragesFourTimesAnEpochThatIsShort) {
  for (const auto& [steps_per_epoch, updates] : {std::pair(12, 8), std::pair(400, 3)})
    RunThreads({.ranks = 2}, [&](const Communicator& world) {
      Lab lab(world, {.strategy = "local_sgd",
                      .steps = 24,
                      .steps_per_epoch = steps_per_epoch,
                      .gradient = test::PullToRank});
      lab.Steps();
      if (world.rank() == 0) {
        EXPECT_EQ(lab.strategy->Counts().updates, updates);
      }
      lab.strategy->Finish();
    });
}

}  // namespace yoke::local_sgd_test
