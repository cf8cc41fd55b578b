// The strategy allreduce: plain descent on the mean of all ranks' gradients, whatever the buckets.
#include <gtest/gtest.h>

#include <mutex>

#include "base/support/near.h"
#include "strategy/rows.h"
#include "strategy/support/lab.h"

namespace yoke::allreduce_test {

using test::kCount;
using test::Lab;

/// The weights after `steps` steps of plain descent on the mean gradient, computed in one place. In
/// the second half the rate is `later`.
std::vector<float> Restated(int ranks, int64_t steps, int64_t accumulate = 1, float later = 0.1F) {
  std::vector<float> w(kCount), sum(kCount), gradient(kCount);
  RunThreads({.ranks = 1}, [&](const Communicator& world) {
    w = Lab(world, {.gradient = test::PullToRank}).Values();
  });
  for (int64_t step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      test::PullToRank(
          {.rank = rank, .step = step, .values = w.data(), .gradient = gradient.data()});
      for (int64_t i = 0; i < kCount; ++i) sum[i] += gradient[i];
    }
    if ((step + 1) % accumulate != 0) continue;
    for (int64_t i = 0; i < kCount; ++i)
      w[i] -= (step < steps / 2 ? 0.1F : later) * sum[i] / static_cast<float>(ranks * accumulate);
    std::fill(sum.begin(), sum.end(), 0.0F);
  }
  return w;
}

/// What every rank ends with, by rank.
std::vector<std::vector<float>> Train(int ranks, const test::LabSettings& settings) {
  std::vector<std::vector<float>> ends(ranks);
  RunThreads({.ranks = ranks}, [&](const Communicator& world) {
    Lab lab(world, settings);
    lab.Steps();
    lab.Model();
    ends[world.rank()] = lab.Values();
    lab.strategy->Finish();
  });
  return ends;
}

TEST(AllReduce, IsDescentOnTheMeanGradient) {
  for (int ranks : {1, 2, 3, 4})
    for (double bucket : {0.0, 4.0}) {
      const auto ends = Train(ranks, {.strategy = "allreduce",
                                      .options = {{"bucket_mb", bucket}},
                                      .later_rate = 0.02,
                                      .steps = 20,
                                      .gradient = test::PullToRank});
      const std::vector<float> expected = Restated(ranks, 20, 1, 0.02F);
      for (const std::vector<float>& mine : ends) {
        EXPECT_EQ(mine, ends[0]);
        test::ExpectNearLargest(mine, expected, 1e-6, "value");
      }
    }
}

TEST(AllReduce, AddsUpStepsBeforeItExchanges) {
  const auto ends = Train(2, {.strategy = "allreduce",
                              .options = {{"accumulate", 3}},
                              .steps = 7,  // two updates, and one step that waits for its own
                              .gradient = test::PullToRank});
  const std::vector<float> expected = Restated(2, 7, 3);
  for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(ends[1][i], expected[i], 1e-5);
}

TEST(AllReduce, AddsUpStepsByTheirExamples) {
  // Constant gradients of 1 and 5, of 3 examples and of 1: the mean over examples is 2.
  for (int ranks : {1, 2}) {
    const auto ends =
        Train(ranks, {.strategy = "allreduce",
                      .options = {{"accumulate", 2}},
                      .rate = 0.25,
                      .steps = 2,
                      .examples = [](int64_t step) { return step == 0 ? 3 : 1; },
                      .gradient =
                          [](const test::Asked& asked) {
                            std::fill_n(asked.gradient, kCount, asked.step == 0 ? 1.0F : 5.0F);
                          }});
    const std::vector<float> begin = Restated(1, 0);
    for (int64_t i = 0; i < test::kFirst; ++i)
      EXPECT_NEAR(ends[0][i], begin[i] - 0.25F * 2, 1e-6) << ranks;
  }
}

TEST(AllReduce, LongGradientsAreClippedByTheirMean) {
  // Opposite gradients of length 10 and a mean of 0: nothing to clip, nothing to move.
  const auto gradient = [](const test::Asked& asked) {
    for (int64_t i = 0; i < kCount; ++i)
      asked.gradient[i] = i > 0 ? 0.0F : asked.rank == 0 ? 10.0F : -10.0F;
  };
  const auto ends =
      Train(2, {.strategy = "allreduce", .clip_norm = 1, .steps = 3, .gradient = gradient});
  EXPECT_EQ(ends[0], Restated(1, 0));
}

/// Rank r touches rows r and 7 of a table of 10 rows; rank 0 none. Sums with weight 0.5.
template <typename Operation>
void SumOverThree(const Operation& operation) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {10, 2}, .kind = SliceKind::kRowSparse});
  layout.Pack();
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    Gradients gradients(layout, Cpu());
    RowGradient& rows = gradients.rows(0);
    if (world.rank() > 0) rows = {.ids = {world.rank(), 7}, .values = {1, 2, 3, 4}};
    RowExchange exchange(layout);
    operation(exchange, world, gradients);
    EXPECT_LT(world.traffic().bytes_sent, 100);
    if (world.rank() > 0 && rows.ids.size() < 3) return;
    EXPECT_EQ(rows.ids, (std::vector<int32_t>{1, 2, 7}));
    EXPECT_EQ(rows.values, (std::vector<float>{0.5, 1, 0.5, 1, 3, 4}));
  });
}

TEST(Rows, TravelAsRowsToAll) {
  SumOverThree([](RowExchange& exchange, const Communicator& world, Gradients& gradients) {
    exchange.Sum(world, 0.5, gradients);
    EXPECT_EQ(gradients.rows(0).ids.size(), 3U);
  });
}

TEST(Rows, TravelAsRowsToTheFirst) {
  SumOverThree([](RowExchange& exchange, const Communicator& world, Gradients& gradients) {
    exchange.SumToFirst(world, 0.5, gradients);
    EXPECT_EQ(gradients.rows(0).ids.size(), world.rank() == 0 ? 3U : 2U);
  });
}

TEST(Rows, AreAddedUpOverStepsAndGivenAwayOnce) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {5, 2}, .kind = SliceKind::kRowSparse});
  layout.Pack();
  RowSum sum(0, layout);
  sum.Add({.ids = {1}, .values = {1, 2}}, 3);
  sum.Add({.ids = {1, 4}, .values = {1, 1, 4, 8}}, 1);
  RowGradient rows;
  sum.Move(rows, 0.25F);
  EXPECT_EQ(rows.ids, (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(rows.values, (std::vector<float>{1, 1.75, 1, 2}));
  sum.Move(rows, 1);
  EXPECT_TRUE(rows.ids.empty());
}

TEST(AllReduce, CountsTheWaitForSlowerRanks) {
  Simulate({.ranks = 2, .latency = 1e-3}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "allreduce", .steps = 4, .gradient = [&](const test::Asked& asked) {
                      test::PullToRank(asked);
                      world.Sleep(asked.rank == 0 ? 1 : 3);
                    }});
    lab.Steps();
    const double waited = lab.strategy->Counts().seconds_waiting;
    lab.strategy->Finish();
    if (world.rank() == 0)
      EXPECT_NEAR(waited, 4 * 2, 0.1);
    else
      EXPECT_LT(waited, 0.1);
  });
}

}  // namespace yoke::allreduce_test
