// Watches for a process that waits for the others in a call of MPI, which never returns if one of
// them is lost: a watch ends the process with a message.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/launcher.h"
#include "comm/siblings.h"

namespace yoke {

/// A thread that works beside its owner until that is done.
class WatchThread {
 public:
  WatchThread() = default;
  WatchThread(const WatchThread&) = delete;
  WatchThread& operator=(const WatchThread&) = delete;

 protected:
  ~WatchThread() = default;
  /// Waits so many seconds; false when the watch is over.
  bool Pause(double seconds);
  /// Before the destruction of what the thread looks at.
  void End();

  std::thread thread_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

/// Of a call in which all that joined meet.
class JoinWatch : WatchThread {
 public:
  /// Allows four times `timeout` seconds, and at least 10, until its destruction: a start takes
  /// longer than a message. Time in which this process is stopped does not count.
  explicit JoinWatch(double timeout);
  ~JoinWatch() { End(); }

 private:
  void Watch(double seconds);
};

/// Watches the start, in which the processes of a launcher join. It looks for those on this
/// machine, names missing ones, and does not wait for one that has ended. One of the waiting
/// processes here reports for all of them.
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
  std::vector<Sibling> before_, now_;  // at the last two looks
  int ended_ = 0;                      // looks at which one had ended
  size_t most_ = 0;                    // the most ranks that any look has seen
};

}  // namespace yoke
