// Backoff: the waits of a thread that polls for messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace yoke {

/// Polls without a pause at first, then yields the core, then sleeps for longer and longer. A long
/// message progresses only while both of its ends poll, so sleep comes later while one is in
/// flight.
class Backoff {
 public:
  void Pause(bool moving) {
    constexpr double kLook = 20e-6, kYield = 5e-3, kYieldMoving = 20e-3;    // seconds
    constexpr double kShortest = 10e-6, kLongest = 1e-3, kPart = 1.0 / 16;  // of the wait so far
    const double now = Now();
    if (began_ == 0 || moving != moving_) began_ = now;
    moving_ = moving;
    if (now - began_ < kLook) return;
    if (now - began_ < (moving ? kYieldMoving : kYield)) return std::this_thread::yield();
    const double sleep = std::clamp(kPart * (now - began_), kShortest, kLongest);
    std::this_thread::sleep_for(std::chrono::duration<double>(sleep));
  }

 private:
  double began_ = 0;
  bool moving_ = false;
};

}  // namespace yoke
