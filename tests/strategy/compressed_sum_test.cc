// Compressed sums: their bytes, their bits, and that what they lose is sent later.
#include "strategy/compress.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/random.h"
#include "comm/threads.h"

namespace yoke::compressed_sum_test {

Compressor Make(const std::string& kind, int64_t count, double share) {
  const Table keys = {{"compression", kind}, {"top_share", share}};
  return {Options("cluster", keys, CompressionOptions()), count};
}

std::vector<float> Draws(int64_t count, uint64_t rank, uint64_t step) {
  Random random({rank, step});
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

class CompressedSums : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, CompressedSums, testing::Values("bf16", "int8", "int4", "topk"));

TEST_P(CompressedSums, SendWhatTheyPriceAndNeverMoreThanAnAllReduce) {
  for (const int ranks : {2, 3, 4, 8})
    for (const int64_t count : {1, 5, 300, 20000})
      for (const double share : {0.01, 0.3, 0.9}) {
        std::atomic<int64_t> bytes = 0, messages = 0;
        RunThreads({.ranks = ranks}, [&](const Communicator& world) {
          Compressor compressor = Make(GetParam(), count, share);
          std::vector<float> values = Draws(count, world.rank(), 0);
          SumCompressed(world, compressor, OnHost(std::span(values)), 0);
          bytes += world.traffic().bytes_sent;
          messages += world.traffic().messages_sent;
        });
        const Cost cost = CostOfSumCompressed(Make(GetParam(), 0, share), count, ranks);
        EXPECT_EQ(static_cast<double>(bytes), cost.message_bytes);
        EXPECT_EQ(static_cast<double>(messages), cost.messages);
        EXPECT_LE(cost.message_bytes, CostOfAllReduce(4 * count, ranks).message_bytes)
            << ranks << " ranks, " << count << " numbers, " << share;
      }
}

/// Megabytes that all ranks send for a bucket of a million elements: the table of
/// docs/strategies/allreduce.md, and topk with larger shares.
TEST(CompressedSumsTable, IsThatOfThePage) {
  struct Row {
    const char* kind;
    double share;
    std::array<double, 3> megabytes;  // of 2, 4 and 8 ranks
  };
  const Row rows[] = {{"none", 1, {8, 24, 56}},           {"bf16", 1, {4, 12, 28}},
                      {"int8", 1, {2.03, 6.09, 14.22}},   {"int4", 1, {1.125, 3.375, 7.875}},
                      {"topk", 0.01, {0.16, 0.96, 4.48}}, {"topk", 0.1, {1.6, 9.6, 33.6}},
                      {"topk", 0.5, {8, 24, 56}}};
  for (const Row& row : rows)
    for (int i = 0; i < 3; ++i) {
      const Cost cost = CostOfSumCompressed(Make(row.kind, 0, row.share), 1000000, 2 << i);
      EXPECT_NEAR(cost.message_bytes / 1e6, row.megabytes[i], 0.005)
          << row.kind << " " << row.share;
    }
}

TEST_P(CompressedSums, HaveTheSameBitsEverywhereAndSendLaterWhatTheyLose) {
  for (const int ranks : {2, 3, 4}) {
    constexpr int64_t kCount = 700, kOffset = 16;
    constexpr uint64_t kSteps = 30;
    std::mutex mutex;
    std::vector<double> missing(kCount);  // what was given, less what has come and what is kept
    RunThreads({.ranks = ranks}, [&](const Communicator& world) {
      Compressor compressor = Make(GetParam(), kOffset + kCount, 0.1);
      std::vector<double> mine(kCount);
      for (uint64_t step = 0; step < kSteps; ++step) {
        std::vector<float> values = Draws(kCount, world.rank(), step);
        for (int64_t i = 0; i < kCount; ++i) mine[i] += values[i];
        SumCompressed(world, compressor, OnHost(std::span(values)), kOffset);
        for (const auto& theirs : world.AllGather(std::as_bytes(std::span(values))))
          ASSERT_TRUE(std::ranges::equal(theirs, std::as_bytes(std::span(values))));
        if (world.rank() == 0)
          for (int64_t i = 0; i < kCount; ++i) mine[i] -= values[i];
      }
      const std::lock_guard lock(mutex);
      for (int64_t i = 0; i < kCount; ++i) {
        const bool keeps = !compressor.residual().empty();
        missing[i] += mine[i] - (keeps ? compressor.residual()[kOffset + i] : 0);
      }
    });
    const double rounding = std::string(GetParam()) == "bf16" ? 0.5 : 1e-3;
    for (const double number : missing) EXPECT_NEAR(number, 0, rounding);
  }
}

}  // namespace yoke::compressed_sum_test
