// Peers: the processes of a world: where each rank runs, and whether it is alive once no launcher
// watches them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"

namespace yoke {

class Peers {
 public:
  /// All ranks call it, each in its own process. Once `guard_lost` is true, the end of another
  /// rank's process on this machine ends this process too, without waiting for the timeout.
  Peers(const Communicator& world, const std::atomic<bool>& guard_lost);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// "rank 1: process 4711 on vm", by rank.
  std::vector<std::string> Places() const { return places_; }

 private:
  void Watch();
  void EndAfter(int rank) const;

  const std::atomic<bool>& guard_lost_;
  std::vector<std::string> places_;
  std::vector<int> handles_;  // pidfds by rank; -1: this process or another machine
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last member: it uses the others
};

}  // namespace yoke
