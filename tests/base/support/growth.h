// Growth: whether the time that work takes grows about as its amount does.
#pragma once

#include <gtest/gtest.h>

#include <ctime>

namespace yoke {

/// Seconds of this process's processors that `work()` takes.
template <typename Work>
double ProcessorSeconds(const Work& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Expects four times as much work to take about four times as long: `seconds(amount)` does it and
/// returns its processor time. Square growth would take 16 times as long.
template <typename Seconds>
void ExpectNearlyLinear(int few, double most_seconds, const Seconds& seconds) {
  constexpr double kMostTimes = 9, kUnnoticed = 0.1;
  seconds(few);  // what is made once is made now
  const double short_time = seconds(few), long_time = seconds(4 * few);
  EXPECT_LT(long_time, kMostTimes * short_time + kUnnoticed);
  EXPECT_LT(long_time, most_seconds);
}

}  // namespace yoke
