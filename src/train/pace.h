// Pace: how long a run has trained, and how fast its epoch goes.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace yoke {

/// Seconds throughout. A session is what one command trains.
class Pace {
 public:
  /// So much of this session passed in a larger world.
  void EnterAfter(double seconds) { entered_ -= seconds; }
  double OfSession() const { return Now() - entered_; }

  /// Training begins; the sessions before took so long.
  void Begin(double before) {
    before_ = before;
    began_ = saved_ = Now();
  }
  double OfTraining() const { return before_ + Now() - began_; }

  void BeginEpoch(double epochs_done) {
    epoch_began_ = Now();
    epochs_then_ = epochs_done;
    paused_ = 0;
  }
  /// A checkpoint was written, since `began`; that time counts for no epoch's speed.
  void Saved(double began) {
    saved_ = Now();
    paused_ += saved_ - began;
  }
  double SinceSaved() const { return Now() - saved_; }
  /// Epochs a second since BeginEpoch.
  double Speed(double epochs_done) const {
    return (epochs_done - epochs_then_) / std::max(1e-9, Now() - epoch_began_ - paused_);
  }

 private:
  double entered_ = Now();
  double began_ = Now();
  double before_ = 0;
  double saved_ = Now();
  double epoch_began_ = 0;
  double epochs_then_ = 0;
  double paused_ = 0;
};

}  // namespace yoke
