// Random: streams are reproducible, different, and have the moments they should.
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace yoke::random_test {

TEST(Random, DependsOnEveryWordAndOnNothingElse) {
  Random a{1, 2}, b{1, 2}, c{1, 3}, d{2, 1};
  const uint64_t first = a.Bits();
  EXPECT_EQ(first, b.Bits());
  EXPECT_NE(first, c.Bits());
  EXPECT_NE(first, d.Bits());
}

TEST(Random, SkipsDraws) {
  Random drawn{1, 2}, skipped{1, 2};
  for (int i = 0; i < 3; ++i) drawn.Bits();
  drawn.Normal();
  skipped.Skip(5);
  EXPECT_EQ(drawn.Bits(), skipped.Bits());
}

TEST(Random, MomentsOfUniformAndNormal) {
  Random random{7};
  const int n = 200000;
  double uniform = 0, mean = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    uniform += random.Uniform();
    const double x = random.Normal();
    mean += x, square += x * x;
  }
  EXPECT_NEAR(uniform / n, 0.5, 5 * 0.29 / std::sqrt(n));  // five standard errors
  EXPECT_NEAR(mean / n, 0.0, 5 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1.0, 5 * std::sqrt(2.0 / n));
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random{3};
  std::vector<int> seen(7);
  for (int i = 0; i < 1000; ++i) ++seen.at(random.Below(7));
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 80);
}

TEST(Random, PermutationHoldsEachOnce) {
  std::vector<int64_t> p = Permutation(1000, Random{1, 5});
  EXPECT_NE(p, Permutation(1000, Random{1, 6}));
  EXPECT_EQ(p, Permutation(1000, Random{1, 5}));
  std::sort(p.begin(), p.end());
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(p[i], i);
}

}  // namespace yoke::random_test
