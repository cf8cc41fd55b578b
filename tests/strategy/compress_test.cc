// Compression of gradients: what arrives, what is kept back, and that descent gets where it should.
#include "strategy/compress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/random.h"
#include "strategy/support/lab.h"

namespace yoke::compress_test {

Compressor Make(const std::string& kind, int64_t count, double share = 0.1) {
  const Table keys = {{"compression", kind}, {"top_share", share}};
  return {Options("cluster", keys, CompressionOptions()), count};
}

std::vector<float> Draws(int64_t count, uint64_t seed) {
  Random random({seed});
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

class Kinds : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Compression, Kinds,
                         testing::Values("none", "bf16", "int8", "int4", "topk"));

TEST_P(Kinds, WhatIsNotSentNowIsSentLater) {
  for (int64_t count : {1, 255, 257, 1000}) {
    Compressor compressor = Make(GetParam(), count);
    std::vector<float> arrived(count), given(count);
    for (uint64_t step = 0; step < 60; ++step) {
      const std::vector<float> gradient = Draws(count, step);
      const auto message = compressor.Encode(gradient, 0);
      ASSERT_EQ(static_cast<int64_t>(message.size()), compressor.BytesOf(count));
      compressor.AddTo(arrived, message);
      for (int64_t i = 0; i < count; ++i) given[i] += gradient[i];
    }
    for (int64_t i = 0; i < count; ++i) {
      const float kept = compressor.residual().empty() ? 0 : compressor.residual()[i];
      const float rounding = std::string(GetParam()) == "bf16" ? 0.3F : 1e-4F;
      EXPECT_NEAR(arrived[i] + kept, given[i], rounding);
    }
  }
}

TEST_P(Kinds, StaysFiniteWhereAGradientEnds) {
  constexpr int64_t kCount = 600;
  Compressor compressor = Make(GetParam(), kCount);
  std::vector<float> gradient = Draws(kCount, 1), sum(kCount);
  for (int step = 0; step < 60; ++step) {
    compressor.AddTo(sum, compressor.Encode(gradient, 0));
    std::fill(gradient.begin(), gradient.begin() + 512, 0.0F);  // a unit that is dead from now on
  }
  for (const float value : sum) ASSERT_TRUE(std::isfinite(value));
}

TEST_P(Kinds, TellsOfWhatIsNotFinite) {
  std::vector<float> gradient = Draws(300, 1), sum(300);
  gradient[280] = std::numeric_limits<float>::quiet_NaN();
  Compressor compressor = Make(GetParam(), 300, 1);
  compressor.AddTo(sum, compressor.Encode(gradient, 0));
  EXPECT_FALSE(std::isfinite(sum[280]));
  EXPECT_TRUE(std::isfinite(sum[0]));
}

TEST_P(Kinds, TakesFewerBytes) {
  const int64_t bytes = Make(GetParam(), 1 << 16).BytesOf(1 << 16);
  const std::string kind = GetParam();
  EXPECT_EQ(bytes, kind == "none"   ? 4 << 16
                   : kind == "bf16" ? 2 << 16
                   : kind == "int8" ? (1 << 16) + 4 * 256
                   : kind == "int4" ? (1 << 15) + 4 * 1024
                                    : 8 * std::llround(0.1 * (1 << 16)));
}

TEST_P(Kinds, DescendToTheMeanOptimum) {
  const Table options = {{"compression", GetParam()}, {"top_share", 0.2}};
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    test::Lab lab(world, {.strategy = "allreduce",
                          .options = options,
                          .rate = 0.05,
                          .steps = 600,
                          .gradient = test::PullToRank});
    lab.Steps();
    const std::vector<float> model = lab.Model();
    for (int64_t i = 0; i < test::kCount; ++i) {
      if (test::Lab::Padding(i)) continue;
      EXPECT_NEAR(model[i], 1 + static_cast<double>(i) / 10, 0.15);
    }
    std::vector<float> mine = lab.Values();
    world.Broadcast(std::as_writable_bytes(std::span(mine)), 1);
    EXPECT_EQ(mine, lab.Values());
    lab.strategy->Finish();
  });
}

/// Gradients are encoded in pieces of 2^24 elements.
constexpr int64_t kPiece = int64_t{1} << 24;

TEST_P(Kinds, PiecesOfALongGradientJoinWithoutAGap) {
  constexpr int64_t kCount = kPiece + 300;
  Compressor compressor = Make(GetParam(), kCount, 1e-5);
  std::vector<float> gradient(kCount), sum(kCount);
  const std::vector<int64_t> places = {0, kPiece - 1, kPiece, kCount - 1};
  for (size_t i = 0; i < places.size(); ++i) gradient[places[i]] = 127 - static_cast<float>(i);
  const auto message = compressor.Encode(gradient, 0);
  ASSERT_EQ(static_cast<int64_t>(message.size()), compressor.BytesOf(kCount));
  EXPECT_GT(compressor.BytesOf(kCount), compressor.BytesOf(kPiece));
  compressor.AddTo(sum, message);
  double total = 0;
  for (const float value : sum) total += value;
  if (std::string(GetParam()) ==
      "topk") {  // of the last 300 elements one is sent, the others later
    EXPECT_EQ(compressor.residual()[kCount - 1], 124);
    EXPECT_EQ(std::exchange(sum[kCount - 1], 124.0F), 0);
    total += 124;
  }
  for (const int64_t place : places) EXPECT_NEAR(sum[place], gradient[place], 0.5) << place;
  EXPECT_NEAR(total, 127 + 126 + 125 + 124, 1);
}

TEST(Compressor, TheErrorOfAPartIsKeptAtItsPlace) {
  constexpr int64_t kBegin = kPiece - 100;
  Compressor compressor = Make("topk", kPiece + 300, 0.01);
  std::vector<float> part(200), sum(200);
  part[99] = 3, part[100] = 2, part[199] = 1;  // on either side of the border, and the last
  compressor.AddTo(sum, compressor.Encode(part, kBegin));
  EXPECT_EQ(sum[99], 3);
  EXPECT_EQ(sum[100], 2);
  EXPECT_EQ(sum[199], 0);
  EXPECT_EQ(compressor.residual()[kBegin + 199], 1);
  compressor.AddTo(sum, compressor.Encode(std::vector<float>(200), kBegin));
  EXPECT_EQ(sum[199], 1);
}

/// Whole numbers up to 7 are codes of 4 bits, and those between are rounded by at most half a step.
TEST(Compressor, FourBitsHaveFourteenStepsABlock) {
  Compressor compressor = Make("int4", 67);
  std::vector<float> values(67), arrived(67);
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i % 15 - 7);
  values[3] += 0.25F;
  values[64] = 700, values[65] = -349, values[66] = -1000;  // a block of its own
  const auto message = compressor.Encode(values, 0);
  EXPECT_EQ(message.size(), 2 * 4 + 34U);
  compressor.AddTo(arrived, message);
  for (int i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(arrived[i], static_cast<float>(i % 15 - 7)) << i;
  EXPECT_FLOAT_EQ(compressor.residual()[3], 0.25F);
  for (int i = 64; i < 67; ++i) EXPECT_NEAR(arrived[i], values[i], 500.1 / 7) << i;
  EXPECT_FLOAT_EQ(arrived[66], -1000);
}

TEST(Compressor, RefusesWhatIsNoMessage) {
  const Compressor compressor = Make("topk", 100);
  std::vector<float> sum(100);
  EXPECT_THROW(compressor.AddTo(sum, std::vector<std::byte>(7)), Error);
  EXPECT_THROW(compressor.AddTo(sum, std::vector<std::byte>(80, std::byte{0xFF})), Error);
}

}  // namespace yoke::compress_test
