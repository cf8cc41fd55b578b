// ThreadedWire: a wire among threads, what MPI is to processes.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/wire.h"

namespace yoke {

/// What is under way to each rank, with who sent it.
struct WireQueues {
  explicit WireQueues(int ranks) : of(ranks) {}
  std::mutex mutex;
  std::vector<std::deque<std::pair<int, Packet>>> of;
};

class ThreadedWire : public Wire {
 public:
  ThreadedWire(WireQueues& queues, int rank) : queues_(queues), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(queues_.of.size()); }
  void Send(int to, Packet bytes) override {
    const std::lock_guard lock(queues_.mutex);
    CheckAlive();
    queues_.of[to].emplace_back(rank_, std::move(bytes));
  }
  bool Receive(int& from, Packet& bytes) override {
    const std::lock_guard lock(queues_.mutex);
    CheckAlive();
    auto& mine = queues_.of[rank_];
    if (mine.empty()) return false;
    from = mine.front().first;
    bytes = std::move(mine.front().second);
    mine.pop_front();
    return true;
  }
  bool Sending() override { return false; }
  std::unique_ptr<Wire> Survivors() override { return nullptr; }
  void Abort(int status) override { throw Error("aborted", status); }

 protected:
  /// Asked behind the lock, before anything is sent or taken.
  virtual void CheckAlive() const {}

 private:
  WireQueues& queues_;
  int rank_;
};

}  // namespace yoke
