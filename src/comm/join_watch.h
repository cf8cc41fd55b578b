// Watches a process that waits for others inside MPI, where a wait for a lost process never
// returns: the watch ends the process with a message.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/launcher.h"
#include "comm/local_ranks.h"

namespace yoke {

/// Seconds that ranks may take to come together, where a message may take `timeout`: four times as
/// many, and at least 10.
double JoinTimeout(double timeout);

/// A thread that runs beside its owner until End.
class WatchThread {
 public:
  WatchThread() = default;
  WatchThread(const WatchThread&) = delete;
  WatchThread& operator=(const WatchThread&) = delete;

 protected:
  ~WatchThread() = default;
  /// Waits `seconds`; false if the watch is over.
  bool Pause(double seconds);
  /// Call before what the thread uses is destroyed.
  void End();

  std::thread thread_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

/// Watches a collective call of MPI.
class JoinWatch : WatchThread {
 public:
  /// Allows JoinTimeout(timeout) seconds until its destruction: a start takes longer than a
  /// message. Time in which this process is stopped does not count.
  explicit JoinWatch(double timeout);
  ~JoinWatch() { End(); }

 private:
  void Watch(double seconds);
};

/// Watches the start, in which the processes of a launcher join. It looks for the processes on this
/// machine, names missing ones, and does not wait for one that has ended. One of the waiting
/// processes here reports for all.
class StartWatch : WatchThread {
 public:
  /// Waits as long as a JoinWatch. If `stop` (may be null) becomes the number of a signal, the
  /// process ends immediately with exit status 128 + signal.
  StartWatch(Launch launch, double timeout, const std::atomic<int>* stop);
  ~StartWatch() { End(); }

 private:
  void Watch(double seconds, const std::atomic<int>* stop);
  bool MissesOne();
  [[noreturn]] void Leave(double waited) const;

  Launch launch_;
  std::vector<LocalRankStatus> before_, now_;  // at the last two looks
  int ended_ = 0;                              // consecutive looks at which one had ended
  size_t most_ = 0;                            // the most ranks seen at a look
};

}  // namespace yoke
