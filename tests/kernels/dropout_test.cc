// Masks: as many stay as asked for, drawn from the key alone.
#include "kernels/dropout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace yoke::dropout_test {

std::vector<uint8_t> Mask(uint64_t seed, double keep, int64_t count) {
  std::vector<uint8_t> mask(count);
  const std::vector<float> x(count);
  std::vector<float> y(count);
  MakeDropout({.batch = 1, .count = count, .keep = keep})
      ->Forward({.seed = seed, .mask = mask.data(), .from = x.data(), .to = y.data()});
  return mask;
}

TEST(Dropout, KeepsTheAskedShare) {
  for (double keep : {0.1, 0.5, 0.8, 1.0}) {
    const auto mask = Mask(1, keep, 100'000);
    const double share = std::accumulate(mask.begin(), mask.end(), 0.0) / 100'000;
    EXPECT_NEAR(share, keep, 0.006) << keep;  // four standard deviations
  }
}

TEST(Dropout, FollowsFromTheKeyAndThePosition) {
  const auto mask = Mask(5, 0.5, 1003);
  EXPECT_EQ(Mask(5, 0.5, 1003), mask);
  EXPECT_NE(Mask(6, 0.5, 1003), mask);
  const auto shorter = Mask(5, 0.5, 501);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), mask.begin()));
}

TEST(Dropout, ScalesWhatStays) {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<uint8_t> mask = {1, 0, 0, 1};
  std::vector<float> y(4);
  MakeDropout({.batch = 2, .count = 2, .keep = 0.25})
      ->Backward({.mask = mask.data(), .from = x.data(), .to = y.data()});
  EXPECT_EQ(y, (std::vector<float>{4, 0, 0, 16}));
}

}  // namespace yoke::dropout_test
