// Peers: the processes of a world: where each rank runs, and whether it still does when no launcher
// looks after them.
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
  /// All ranks make one, each in a process of its own. From when `guard_lost` is true, a rank of
  /// this machine whose process is gone ends this process too: nobody else would, before the next
  /// timeout.
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
  std::vector<int> handles_;  // of processes, by rank; -1: this one, or on another machine
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it looks at the rest
};

}  // namespace yoke
