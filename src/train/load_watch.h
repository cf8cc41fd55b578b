// LoadWatch: while data are read, tells how far that is, and lets a signal end the process at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "train/trainer.h"

namespace yoke {

class LoadWatch {
 public:
  /// A thread of its own watches until the object goes. When a signal comes it calls `abandon`,
  /// says so and ends the process with 128 + its number: no reader has to look for a signal.
  /// `tells`: whether this process asks the request's observers. `total`: bytes that are to be
  /// read; 0: not known.
  LoadWatch(const RunRequest& request, bool tells, int64_t total, std::function<void()> abandon);
  ~LoadWatch();
  LoadWatch(const LoadWatch&) = delete;
  LoadWatch& operator=(const LoadWatch&) = delete;

 private:
  void Watch();
  void Tell(bool over);
  [[noreturn]] void Stop();
  int Signal() const { return request_.stop_signal ? request_.stop_signal->load() : 0; }

  const RunRequest& request_;
  const bool tells_;
  const int64_t total_;
  const std::function<void()> abandon_;
  const double began_;
  const int64_t read_before_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  bool told_ = false;
  std::thread thread_;  // last: it looks at the rest
};

}  // namespace yoke
