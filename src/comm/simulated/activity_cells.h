// ActivityCells: what lanes of a timeline do over time, in a bounded number of cells.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

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

}  // namespace yoke
