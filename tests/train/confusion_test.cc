// Confusion: against fractions counted by hand.
#include "train/metrics.h"

#include <gtest/gtest.h>

namespace yoke::confusion_test {

// Of class 0: 3 right, 1 taken for class 1; of class 1: 2 right, 4 taken for class 0; none of 2.
Confusion Counted() {
  Confusion confusion(3);
  confusion.At(0, 0) = 3;
  confusion.At(0, 1) = 1;
  confusion.At(1, 1) = 2;
  confusion.At(1, 0) = 4;
  return confusion;
}

TEST(ConfusionTest, GivesPrecisionRecallAndTheirMean) {
  const Confusion confusion = Counted();
  EXPECT_EQ(confusion.Of(1), 6);
  EXPECT_EQ(confusion.FoundAs(0), 7);
  EXPECT_DOUBLE_EQ(confusion.Precision(0), 3.0 / 7);
  EXPECT_DOUBLE_EQ(confusion.Recall(0), 0.75);
  EXPECT_DOUBLE_EQ(confusion.F1(0), 2 * (3.0 / 7) * 0.75 / (3.0 / 7 + 0.75));
  EXPECT_DOUBLE_EQ(confusion.BalancedAccuracy(), (0.75 + 1.0 / 3) / 2);
}

TEST(ConfusionTest, IsZeroForAClassThatIsNowhere) {
  const Confusion confusion = Counted();
  EXPECT_EQ(confusion.Precision(2), 0);
  EXPECT_EQ(confusion.Recall(2), 0);
  EXPECT_EQ(confusion.F1(2), 0);
}

}  // namespace yoke::confusion_test
