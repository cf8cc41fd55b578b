// LoadWatch: while data is read, reports progress and lets a signal end the process immediately.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "train/run_request.h"

namespace yoke {

class LoadWatch {
 public:
  /// Runs a watching thread until destruction. On a signal it calls `abandon`, sends a message and
  /// ends the process with 128 + signal, so readers need not check for signals. `tells`: whether to
  /// call the request's observers. `total`: bytes to read; 0: unknown,
  /// negative: there are no files.
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
  std::thread thread_;  // last member: it uses the others
};

}  // namespace yoke
