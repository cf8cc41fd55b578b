// Timeline: who computes, waits and sends in a simulation. Memory is bounded: totals of all ranks,
// and a window of a few steps of some ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "comm/simulated.h"
#include "comm/simulated/activity_cells.h"
#include "comm/simulated/drawn_ranks.h"

namespace yoke {

/// By Activity.
template <typename Thing>
using ByActivity = std::array<Thing, kActivities>;

/// In seconds since the window begins.
struct TimelineInterval {
  double begin = 0, end = 0;
};

/// What one rank did in the window.
struct TimelineLane {
  DrawnRank drawn = {};
  ByActivity<double> fractions = {};                         ///< Of the whole run's time.
  ByActivity<std::vector<TimelineInterval>> intervals = {};  ///< In order; none touch.
  std::vector<double> steps = {};  ///< When its steps ended, in seconds since the window begins.
};

/// Fractions of the whole run's time over all ranks.
struct ActivitySpread {
  double minimum = 0, median = 0, maximum = 0;
  int minimum_rank = 0, maximum_rank = 0;
};

/// A timeline to draw.
struct TimelinePicture {
  double from = 0, to = 0;  ///< The window, in seconds of the run; empty if nothing took time.
  double seconds = 0;       ///< Of the whole run.
  int ranks = 0;            ///< Of the cluster; some of them have a lane.
  bool sends = true;        ///< Whether sending is known.
  ByActivity<ActivitySpread> spreads = {};
  std::vector<TimelineLane> lanes = {};
};

/// Filled by a simulation (SimulatedRanks::timeline), on its thread.
class Timeline {
 public:
  static constexpr int kLanes = 32;             ///< Of a picture, at most.
  static constexpr int kSteps = 6;              ///< Of the window, by more than half of the lanes.
  static constexpr int kMostSteps = 120;        ///< Of the window, by the rank that opens it.
  static constexpr size_t kIntervals = 2000;    ///< Of a picture, at most.
  static constexpr size_t kStepsOfALane = 200;  ///< Ends of steps that are kept, at most.

  explicit Timeline(const SimulatedRanks& cluster);

  /// A task of the rank computes from now on, or waits. A rank of which any task computes does not
  /// wait. `now` never decreases.
  void Begin(int rank, Activity activity, double now) { Change(rank, activity, 1, now); }
  void End(int rank, Activity activity, double now) { Change(rank, activity, -1, now); }
  /// The card is busy with the rank's messages. `begin` may lie in the future.
  void Sends(int rank, double begin, double end);
  /// A rank has waited so long for another, where a wait may time out.
  void Waited(double seconds) { longest_wait_ = std::max(longest_wait_, seconds); }
  double longest_wait() const { return longest_wait_; }  ///< In seconds; 0: there was none.
  /// The rank has ended a step. The window begins with the first end of a step, and ends when more
  /// than half of the lanes have taken kSteps more, or this rank kMostSteps, or with the last step:
  /// a server's own worker can be many steps ahead of the others.
  void Step(int rank);

  /// If that rank took no second step, the window is its first one; without steps it is the whole
  /// run. What is shorter than a
  /// thousandth of the window may be left out.
  TimelinePicture Picture() const;

 private:
  struct State {
    double since = 0;   ///< The last change.
    int computing = 0;  ///< Tasks that compute,
    int waiting = 0;    ///< and wait.
    int lane = -1;      ///< -1: none.
    double sends_until = 0;
    ByActivity<double> seconds = {};
  };

  void Change(int rank, Activity activity, int by, double now);
  void Note(State& state, Activity activity, double begin, double end);
  void OpenWindow(int rank);
  double LastTime() const;
  double Fraction(const State& state, size_t activity) const;
  ActivitySpread SpreadOf(size_t activity) const;

  const bool sends_;
  const std::vector<DrawnRank> drawn_;
  std::vector<State> states_;                               // by rank
  std::vector<std::vector<double>> steps_;                  // by lane: times of the run
  ActivityCells cells_;                                     // of the window
  ActivityCells start_;                                     // of the time before
  std::vector<std::vector<TimelineInterval>> first_sends_;  // by lane: known when it begins
  int paced_by_ = -1;                                       // the rank that ended the first step
  int paces_ = 0;                                           // its steps
  size_t done_ = 0;                                         // lanes with kSteps more
  double latest_ = 0;
  double longest_wait_ = 0;
  double to_ = std::numeric_limits<double>::infinity();
};

/// The time in which an object of this class lives, by a clock that advances meanwhile.
class TimelineSpan {
 public:
  /// `timeline`: null records nothing.
  TimelineSpan(Timeline* timeline, int rank, Activity activity, const double& clock)
      : timeline_(timeline), rank_(rank), activity_(activity), clock_(clock) {
    if (timeline_) timeline_->Begin(rank_, activity_, clock_);
  }
  ~TimelineSpan() {
    if (timeline_) timeline_->End(rank_, activity_, clock_);
  }
  TimelineSpan(const TimelineSpan&) = delete;
  TimelineSpan& operator=(const TimelineSpan&) = delete;

 private:
  Timeline* const timeline_;
  const int rank_;
  const Activity activity_;
  const double& clock_;
};

}  // namespace yoke
