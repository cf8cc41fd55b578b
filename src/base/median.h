// Median of some numbers.
#pragma once

#include <algorithm>
#include <vector>

namespace yoke {

/// The middle number, or the mean of the two middle ones; `numbers` is not empty.
inline double Median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const size_t middle = numbers.size() / 2;
  return numbers.size() % 2 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

}  // namespace yoke
