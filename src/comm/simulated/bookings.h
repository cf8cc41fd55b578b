// Bookings: when a machine's part, which does one thing at a time, is busy.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

namespace yoke {

class Bookings {
 public:
  /// Books the first free time of this length from `earliest` on; returns its end. Nothing will be
  /// booked before `now` any more.
  double Book(double now, double earliest, double seconds) {
    busy_.erase(busy_.begin(), FirstThatEndsAfter(now));
    auto at = FirstThatEndsAfter(earliest);
    for (; at != busy_.end() && earliest + seconds > at->begin; ++at)
      earliest = std::max(earliest, at->end);
    const double end = earliest + seconds;
    // Without a gap to the one before, it prolongs that one: a queue is one entry.
    if (at != busy_.begin() && std::prev(at)->end == earliest)
      std::prev(at)->end = end;
    else
      busy_.insert(at, {.begin = earliest, .end = end});
    return end;
  }

 private:
  struct Busy {
    double begin = 0, end = 0;
  };
  using Place = std::vector<Busy>::iterator;
  Place FirstThatEndsAfter(double time) {
    return std::ranges::partition_point(busy_, [=](const Busy& busy) { return busy.end <= time; });
  }

  std::vector<Busy> busy_;  // in order
};

}  // namespace yoke
