// LapTimer: seconds of one part of a step after the other.
#pragma once

#include <utility>

#include "base/clock.h"

namespace yoke::layer {

class LapTimer {
 public:
  /// Since the last lap, or since it was made.
  double Seconds() {
    const double before = std::exchange(at_, Now());
    return at_ - before;
  }
  void Lap(double& part) { part += Seconds(); }

 private:
  double at_ = Now();
};

}  // namespace yoke::layer
