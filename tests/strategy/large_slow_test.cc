// Large gradients: compression of more than 2^31 elements. It takes 13 GiB of memory, without
// compression 17 GiB.
//
// guards: src/strategy/compress src/strategy/packing (90 s)
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/support/large.h"
#include "strategy/compress.h"

namespace yoke::large_slow_test {

constexpr int64_t kBorder = int64_t{1} << 31;
constexpr int64_t kCount = kBorder + 1000;

class LargeGradient : public testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LargeGradient,
                         testing::Values(Compression::kNone, Compression::kBf16, Compression::kInt8,
                                         Compression::kTopK));

TEST_P(LargeGradient, ArrivesBeyond2To31Numbers) {
  constexpr double kNeeded = 17, kShare = 1e-6;
  constexpr float kValue = 127;  // int8 has it exactly
  if (const auto why = LacksGibibytes(GetParam() == Compression::kNone ? kNeeded : 13))
    GTEST_SKIP() << *why;
  const CompressionSettings settings = {.kind = GetParam(), .top_share = kShare};
  const std::vector<int64_t> places = {0, kBorder / 2, kBorder - 1, kBorder};
  std::vector<std::byte> message;
  {
    const SparseZeros<float> gradient(kCount);
    for (const int64_t place : places) gradient[place] = kValue;
    Compressor compressor(settings, kCount);
    message = compressor.Encode(gradient.values(), 0);
    EXPECT_EQ(static_cast<int64_t>(message.size()), compressor.BytesOf(kCount));
  }
  const SparseZeros<float> sum(kCount);
  Compressor(settings).AddTo(sum.values(), message);
  double total = 0;
  for (const float value : sum.values()) total += value;
  EXPECT_EQ(total, double(kValue) * static_cast<double>(places.size()));
  for (const int64_t place : places) EXPECT_EQ(sum[place], kValue) << place;
}

TEST(LargeGradient, TheErrorOfTheLastPartIsKeptAtItsPlace) {
  if (const auto why = LacksGibibytes(9)) GTEST_SKIP() << *why;
  Compressor compressor({.kind = Compression::kTopK, .top_share = 0.01}, kCount);
  std::vector<float> part(1000), sum(1000);
  part[999] = 1;
  std::fill_n(part.begin(), 10, 2.0F);
  compressor.AddTo(sum, compressor.Encode(part, kBorder));
  EXPECT_EQ(sum[9], 2);
  EXPECT_EQ(sum[999], 0);
  EXPECT_EQ(compressor.residual()[kBorder + 999], 1);
}

}  // namespace yoke::large_slow_test
