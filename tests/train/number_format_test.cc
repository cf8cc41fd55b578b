// Numbers for people.
#include "train/number_format.h"

#include <gtest/gtest.h>

namespace yoke::number_format_test {

TEST(NumberFormat, Counts) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(431080), "431,080");
  EXPECT_EQ(Count(-123456), "-123,456");
  EXPECT_EQ(Count(1000000), "1,000,000");
}

TEST(NumberFormat, Durations) {
  EXPECT_EQ(Duration(0.123), "0.12 s");
  EXPECT_EQ(Duration(9.999), "10 s");
  EXPECT_EQ(Duration(59.6), "1:00");
  EXPECT_EQ(Duration(7387), "2:03:07");
  EXPECT_EQ(Duration(-1), "?");
}

TEST(NumberFormat, SizesAndRates) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(999), "999 B");
  EXPECT_EQ(Bytes(999999), "1.00 MB");
  EXPECT_EQ(BytesOfParts(999.6e6, {{"model", 1000}, {"data", 0}}),
            "1.0 GB (model < 0.1, data 0.0)");
  EXPECT_EQ(BinaryBytes(48 * 1024), "48 KiB");
  EXPECT_EQ(BinaryBytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
  EXPECT_EQ(BinaryBytes(0), "0 B");
  EXPECT_EQ(Short(863), "863");
  EXPECT_EQ(Short(4586000), "4.59M");
  EXPECT_EQ(Short(0.25), "0.25");
}

TEST(NumberFormat, MetricsNeverRoundToNothing) {
  EXPECT_EQ(Metric(0.98764), "0.9876");
  EXPECT_EQ(Metric(0), "0.0000");
  EXPECT_EQ(Metric(1.25e-7), "1.25e-07");
}

}  // namespace yoke::number_format_test
