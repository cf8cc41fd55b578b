// Timeline: who computes, waits and sends in a simulation. Memory is bounded: totals of all ranks,
// and a window of a few steps of some ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "comm/simulated.h"

namespace yoke {

/// What a rank does. A rank computes or waits; its messages are sent meanwhile.
enum class Activity { kComputing, kWaiting, kSending };
inline constexpr size_t kActivities = 3;

/// Seconds of each activity by lane and cell. All cells have one width, which doubles whenever a
/// time lies beyond the last cell: the times so far fill at least half of the cells.
class ActivityCells {
 public:
  static constexpr size_t kCells = 2048;  ///< Of a lane.

  /// The first cell begins at `origin` seconds.
  explicit ActivityCells(size_t lanes, double origin = 0)
      : lanes_(lanes), origin_(origin), seconds_(lanes * kCells) {}

  double origin() const { return origin_; }
  double width() const { return width_; }  ///< Of a cell, in seconds.

  double At(size_t lane, size_t cell, Activity activity) const {
    return seconds_[lane * kCells + cell][static_cast<size_t>(activity)];
  }

  /// Times before the origin are left out.
  void Add(size_t lane, Activity activity, double begin, double end) {
    begin = std::max(begin - origin_, 0.0);
    end -= origin_;
    if (end <= begin) return;
    while (end >= width_ * kCells) Coarsen();
    const auto last = static_cast<size_t>(end / width_);
    for (auto cell = static_cast<size_t>(begin / width_); cell <= last; ++cell) {
      const double from = std::max(begin, static_cast<double>(cell) * width_);
      const double to = std::min(end, static_cast<double>(cell + 1) * width_);
      seconds_[lane * kCells + cell][static_cast<size_t>(activity)] += std::max(0.0, to - from);
    }
  }

  /// Joins pairs of cells.
  void Coarsen() {
    for (size_t lane = 0; lane < lanes_; ++lane) {
      const auto cells = seconds_.begin() + static_cast<std::ptrdiff_t>(lane * kCells);
      for (size_t i = 0; i < kCells / 2; ++i)
        for (size_t a = 0; a < kActivities; ++a)
          cells[i][a] = cells[2 * i][a] + cells[2 * i + 1][a];
      std::fill(cells + kCells / 2, cells + kCells, Cell{});
    }
    width_ *= 2;
  }

 private:
  using Cell = std::array<double, kActivities>;

  size_t lanes_;
  double origin_;
  double width_ = 1e-12;
  std::vector<Cell> seconds_;  // by lane and cell
};

struct DrawnRank {
  int rank = 0;
  int group = 0;  ///< Of neighbours on equal nodes of one rack and region: 0, 1, ...
};

/// At most `most` (2 or more) ranks in their order, with the first and the last one. Each group has
/// one and a part of the rest by its size; if there are more groups, they are spread over all
/// ranks.
std::vector<DrawnRank> DrawnRanks(const SimulatedRanks& cluster, int most);

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
