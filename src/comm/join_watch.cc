// JoinWatch, StartWatch: threads that count short intervals.
#include "comm/join_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/stop.h"
#include "base/thread.h"

namespace yoke {
namespace {

[[noreturn]] void EndWith(const std::string& sentence) {
  std::fprintf(stderr, "yoke: %s\n", sentence.c_str());
  std::_Exit(1);
}

}  // namespace

double JoinTimeout(double timeout) { return std::max(10.0, 4 * timeout); }

bool WatchThread::Pause(double seconds) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, WaitTime(seconds), [this] { return over_; });
}

void WatchThread::End() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

JoinWatch::JoinWatch(double timeout) {
  thread_ = StartThread([this, timeout] { Watch(JoinTimeout(timeout)); });
}

void JoinWatch::Watch(double seconds) {
  constexpr int kSlices = 100;
  for (int slice = 0; slice < kSlices; ++slice)
    if (!Pause(seconds / kSlices)) return;
  EndWith(
      fmt::format("rank {} waited {:.3g} s for all ranks to come together: one has stopped, or is "
                  "busy for longer; look at its machine, or raise cluster.timeout",
                  FindLaunch().rank, seconds));
}

StartWatch::StartWatch(Launch launch, double timeout, const std::atomic<int>* stop)
    : launch_(std::move(launch)) {
  thread_ = StartThread([this, timeout, stop] { Watch(JoinTimeout(timeout), stop); });
}

void StartWatch::Watch(double seconds, const std::atomic<int>* stop) {
  constexpr int kSlicesOfASecond = 10;
  MarkAsJoining();
  for (int slice = 1; slice <= seconds * kSlicesOfASecond; ++slice) {
    if (!Pause(1.0 / kSlicesOfASecond)) return;
    if (StopIsAsked(stop)) std::_Exit(128 + *stop);
    if (slice % kSlicesOfASecond == 0 && MissesOne()) Leave(double(slice) / kSlicesOfASecond);
  }
  Leave(seconds);
}

/// Looks several times, because a launcher needs time to start all processes.
bool StartWatch::MissesOne() {
  constexpr int kLooks = 3, kLooksForOneNeverSeen = 6;
  before_ = std::exchange(now_, FindLocalRanks(launch_));
  most_ = std::max(most_, now_.size());
  ended_ = OneHasEnded(launch_, now_) ? ended_ + 1 : 0;
  return ended_ >= (now_.size() < most_ ? kLooks : kLooksForOneNeverSeen);
}

/// Uses the previous look: since then a lower rank may have reported and ended.
void StartWatch::Leave(double waited) const {
  if (!IsFirstToJoin(launch_, before_)) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::_Exit(1);
  }
  const std::string missing = NameMissing(launch_, now_);
  EndWith(fmt::format(
      "rank {} waited {:.3g} s for all {} ranks to join: {}; {}", launch_.rank, waited,
      launch_.size,
      missing.empty() ? "one has stopped, never started or is busy for longer" : missing,
      ended_ > 0 ? "what it printed may say why" : "look there, or raise cluster.timeout"));
}

}  // namespace yoke
