// JoinWatch: ends the process when it has not joined the others in time: a start of MPI that waits
// for a lost process has no other end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace yoke {

class JoinWatch {
 public:
  /// Until its destruction there are four timeouts of `timeout` seconds, and at least 10 seconds: a
  /// start takes longer than a message. Time during which this process stands still does not count.
  explicit JoinWatch(double timeout);
  ~JoinWatch();
  JoinWatch(const JoinWatch&) = delete;
  JoinWatch& operator=(const JoinWatch&) = delete;

 private:
  void Watch(double seconds);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool joined_ = false;
  std::thread thread_;  // last: it looks at the rest
};

}  // namespace yoke
