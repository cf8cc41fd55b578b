// Explosion: what counts as one, and what a healthy run may do.
#include "train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::explosion_test {

const double kClasses = std::log(10.0);

Metrics Measured(double loss) { return {{"loss", loss}, {"accuracy", 0.1}}; }

TEST(Explosion, IsALossFarAboveTheUntrainedModels) {
  EXPECT_TRUE(Exploded(kClasses, 4e22, Measured(4e22)));
  EXPECT_TRUE(Exploded(kClasses, 4e22, Measured(HUGE_VAL)));
  EXPECT_TRUE(Exploded(kClasses, 4e22, Measured(NAN)));
  EXPECT_TRUE(Exploded(kClasses, 4e22, {}));
}

TEST(Explosion, IsNotWhatIsMerelyBad) {
  EXPECT_FALSE(Exploded(kClasses, kClasses, Measured(kClasses)));
  EXPECT_FALSE(Exploded(kClasses, 200, Measured(200)));
}

TEST(Explosion, IsNotASpikeThatHasPassed) {
  EXPECT_FALSE(Exploded(kClasses, 4e22, Measured(2)));
  EXPECT_FALSE(Exploded(kClasses, 2, Measured(4e22)));
  EXPECT_FALSE(Exploded(kClasses, 2, Measured(NAN)));
}

TEST(Explosion, GoesByTheScaleOfTheLoss) {
  EXPECT_FALSE(Exploded(1e10, 9e11, Measured(9e11)));  // a regression of large numbers
  EXPECT_TRUE(Exploded(1e10, 2e12, Measured(2e12)));
  EXPECT_FALSE(Exploded(983 * std::log(2.0), 5e4, Measured(5e4)));  // summed over labels
  EXPECT_FALSE(Exploded(1e-6, 50, Measured(50)));                   // a model that was trained
}

TEST(Explosion, IsUnknownWhereTheBeginningIs) { EXPECT_FALSE(Exploded(0, 4e22, Measured(4e22))); }

}  // namespace yoke::explosion_test
