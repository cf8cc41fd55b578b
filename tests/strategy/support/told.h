// Told: values beside those of a recurrence that a test restates in double.
#pragma once

#include <vector>

#include "base/support/near.h"

namespace yoke::test {

/// Fails where they differ by more than 1e-6 of the largest number.
inline void ExpectTold(const std::vector<float>& values, const std::vector<double>& told) {
  ExpectNearLargest(values, std::vector<float>(told.begin(), told.end()), 1e-6, "value");
}

}  // namespace yoke::test
