// Patience: the back-off of a thread that polls for messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace yoke {

/// Polls without a pause at first, then yields the core, then sleeps for longer and longer. A long
/// message progresses only while both of its ends poll, so sleep comes later while one is in
/// flight.
class Patience {
 public:
  void Pause(bool moving) {
    constexpr double kLook = 20e-6, kYield = 200e-6, kYieldMoving = 20e-3;  // seconds
    constexpr std::chrono::microseconds kShortest(10), kLongest(100);
    const double now = Now();
    if (began_ == 0 || moving != moving_) began_ = now, sleep_ = kShortest;
    moving_ = moving;
    if (now - began_ < kLook) return;
    if (now - began_ < (moving ? kYieldMoving : kYield)) return std::this_thread::yield();
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, kLongest);
  }

 private:
  double began_ = 0;
  bool moving_ = false;
  std::chrono::microseconds sleep_{0};
};

}  // namespace yoke
