// Rounding: how numbers that are stored in bf16 are rounded after an update in f32.
#pragma once

#include <cstdint>

namespace yoke {

struct Rounding {
  /// True: up or down at random, so that the mean is exact and updates smaller than half a step
  /// between two bf16 numbers are not lost. False: to the nearest.
  bool stochastic = true;
  uint64_t seed = 0;  ///< Of the draws.
};

}  // namespace yoke
