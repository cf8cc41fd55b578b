// A collective in virtual time as one event: when each rank may leave it, by the messages that its
// schedule would send (RoundTimes), and which ranks have come (CollectiveArrivals).
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "comm/simulated/delivery.h"
#include "comm/virtual_time.h"

namespace yoke {

/// Follows the messages of a collective event from the times at which its ranks have come.
class RoundTimes {
 public:
  /// `bytes`: as CollectiveCall's, the mean over the ranks.
  RoundTimes(const CollectiveCall& call, double bytes, std::vector<double> come,
             Delivery& delivery);

  double end(int rank) const { return now_[rank]; }
  const CollectiveTraffic& traffic(int rank) const { return traffic_[rank]; }

 private:
  void GoAround();
  void SendByRounds();
  void SendByTime();
  double BytesOf(const CollectiveSchedule::Part& part) const {
    return schedule_.divides() ? bytes_ / part.of : bytes_;
  }
  double Send(int rank, const CollectiveSchedule::Move& move);
  void Receive(int rank, const CollectiveSchedule::Move& move, double arrival);
  void CountSent(int rank, int64_t messages, double bytes);
  void CountReceived(int rank, int64_t messages, double bytes);

  const CollectiveSchedule& schedule_;
  const Members& members_;
  Delivery& delivery_;
  const double bytes_;
  std::vector<double> now_;                 // by rank
  std::vector<CollectiveTraffic> traffic_;  // by rank
};

/// Of one collective event. `Task` waits, has a clock `now`, and is woken at `wake`.
template <typename Task>
struct CollectiveArrivals {
  explicit CollectiveArrivals(int ranks)
      : missing(ranks), tasks(ranks), data(ranks), come(ranks), ends(ranks), traffic(ranks) {}

  /// True for the last one.
  bool Arrive(const CollectiveCall& call, Task& task) {
    tasks[call.rank] = &task;
    data[call.rank] = call.data;
    come[call.rank] = task.now;
    bytes += call.bytes / call.members->size();
    return --missing == 0 && !broken;
  }

  int missing;
  std::vector<Task*> tasks;  // by rank
  std::vector<void*> data;
  std::vector<double> come, ends;  // when they came, and may leave
  std::vector<CollectiveTraffic> traffic;
  double bytes = 0;  // the mean of what they give
  bool complete = false;
  bool broken = false;  // one has left: it never completes
};

}  // namespace yoke
