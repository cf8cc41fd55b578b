// JoinWatch: a thread that counts slices of time.
#include "comm/join_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "comm/launcher.h"

namespace yoke {

JoinWatch::JoinWatch(double timeout)
    : thread_([this, timeout] { Watch(std::max(10.0, 4 * timeout)); }) {}

JoinWatch::~JoinWatch() {
  {
    const std::lock_guard lock(mutex_);
    joined_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void JoinWatch::Watch(double seconds) {
  constexpr int kSlices = 100;
  std::unique_lock lock(mutex_);
  for (int slice = 0; slice < kSlices; ++slice)
    if (changed_.wait_for(lock, std::chrono::duration<double>(seconds / kSlices),
                          [this] { return joined_; }))
      return;
  std::fprintf(
      stderr,
      "yoke: process %d waited %.3g s for all processes of its launcher to come together: one "
      "has stopped, never started or is busy for longer; look at its machine, or raise "
      "cluster.timeout\n",
      FindLaunch().rank, seconds);
  std::_Exit(1);
}

}  // namespace yoke
