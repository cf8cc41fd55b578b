// SessionClock: the training time of a run and the speed of its epoch.
#pragma once

#include <algorithm>

#include "comm/communicator.h"

namespace yoke {

/// All times are in seconds, on the world's clock, which may be virtual. A session is the training
/// of one command.
class SessionClock {
 public:
  explicit SessionClock(const Communicator& world) : world_(world) {}

  /// Adds time that this session spent in a larger world.
  void EnterAfter(double seconds) { entered_ -= seconds; }
  double OfSession() const { return Now() - entered_; }

  /// Starts training, after `before` seconds in earlier sessions, of which `pauses` were no steps.
  void Begin(double before, double pauses) {
    before_ = before;
    pauses_ = pauses;
    began_ = saved_ = Now();
  }
  double Before() const { return before_; }
  double OfTraining() const { return before_ + Now() - began_; }
  /// Of these, the seconds of evaluations and checkpoints, and the others.
  double Pauses() const { return pauses_; }
  double WithoutPauses() const { return OfTraining() - pauses_; }

  void BeginEpoch(double epochs_done) {
    epoch_began_ = Now();
    epochs_then_ = epochs_done;
    paused_ = 0;
  }
  /// No steps were taken since `began`; this time does not count for the epoch's speed.
  void Paused(double began) {
    const double pause = Now() - began;
    pauses_ += pause;
    paused_ += pause;
  }
  /// A checkpoint was written since `began`.
  void Saved(double began) {
    saved_ = Now();
    Paused(began);
  }
  double SinceSaved() const { return Now() - saved_; }
  double Now() const { return world_.Now(); }
  /// Seconds of steps since BeginEpoch.
  double OfEpoch() const { return std::max(1e-9, Now() - epoch_began_ - paused_); }
  /// Epochs per second since BeginEpoch.
  double Speed(double epochs_done) const { return (epochs_done - epochs_then_) / OfEpoch(); }

 private:
  Communicator world_;
  double entered_ = Now();
  double began_ = Now();
  double before_ = 0;
  double pauses_ = 0;
  double saved_ = Now();
  double epoch_began_ = 0;
  double epochs_then_ = 0;
  double paused_ = 0;
};

}  // namespace yoke
