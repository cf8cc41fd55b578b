// Near: lists of numbers that agree one by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace yoke::test {

/// Fails at the first number that is further off than `tolerance`, or not a number. A list has
/// size() and [].
template <typename List>
void ExpectNear(const List& found, const List& expected, double tolerance,
                std::string_view what = "number") {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance) << what << " at " << i << " of " << found.size();
}

/// The same with a tolerance that is a fraction of the largest expected number.
template <typename List>
void ExpectNearLargest(const List& found, const List& expected, double tolerance,
                       std::string_view what) {
  double largest = 1e-6;
  for (size_t i = 0; i < expected.size(); ++i)
    largest = std::max<double>(largest, std::abs(expected[i]));
  ExpectNear(found, expected, tolerance * largest, what);
}

}  // namespace yoke::test
