// The vectorized exponential against the library's, over its whole range.
#include "kernels/cpu/exponential.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::cpu::exponential_test {

TEST(Exponential, IsWithinTwoUnits) {
  for (double x = -87; x <= 88; x += 0.00731) {
    const auto rounded = static_cast<float>(x);
    const double exact = std::exp(double(rounded));
    EXPECT_NEAR(Exponential(rounded) / exact, 1, 2.4e-7) << x;
  }
}

TEST(Exponential, EndsAndNan) {
  EXPECT_EQ(Exponential(0), 1);
  EXPECT_LT(Exponential(-INFINITY), 2e-38F);
  EXPECT_GT(Exponential(-INFINITY), 0);
  EXPECT_TRUE(std::isfinite(Exponential(INFINITY)));
  EXPECT_TRUE(std::isnan(Exponential(NAN)));
}

}  // namespace yoke::cpu::exponential_test
