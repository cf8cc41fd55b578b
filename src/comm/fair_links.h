// FairLinks: network cards that messages share evenly, as connections of TCP do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace yoke {

/// Where a message goes.
struct Route {
  int64_t connection = 0;  ///< Messages of one arrive in the order sent, one after another.
  int sender = 0;          ///< Its node.
  int receiver = 0;        ///< Another node.
};

/// Messages under way. A card divides its bytes per second among the messages that it sends, and
/// those that it receives; a message moves at the lower of its two parts. Cost of Send: the square
/// of the number of messages under way.
class FairLinks {
 public:
  FairLinks(int nodes, double bytes_per_second, double latency)
      : sends_(nodes), receives_(nodes), speed_(bytes_per_second), latency_(latency) {}

  /// A message of so many bytes leaves at `now`, which never decreases. Sets `arrival`, and moves
  /// the arrivals of messages under way; each must stay valid until its time.
  void Send(double now, const Route& route, double bytes, double& arrival);

 private:
  struct Flow {
    Route route;
    double left = 0;  // bytes
    double* arrival = nullptr;
    bool waits = false;  // for an earlier one of its connection
  };
  /// Seconds until the first of the flows is complete; sets the rates.
  double UntilNext(const std::vector<Flow>& flows);
  /// Moves the flows for so long at these rates; removes those that are complete.
  void Move(std::vector<Flow>& flows, double seconds) const;

  std::vector<int> sends_, receives_;  // moving now, by node
  std::vector<double> rates_;          // by flow
  std::vector<Flow> flows_;            // in the order sent
  double speed_, latency_;
  double clock_ = 0;
};

}  // namespace yoke
