// LoadWatch: a thread that checks ten times a second.
#include "train/load_watch.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "train/events.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

constexpr std::chrono::milliseconds kLook(100);
constexpr double kSilence = 1;  // seconds; shorter loads report nothing

}  // namespace

LoadWatch::LoadWatch(const RunRequest& request, bool tells, int64_t total,
                     std::function<void()> abandon)
    : request_(request),
      tells_(tells),
      total_(total),
      abandon_(std::move(abandon)),
      began_(Now()),
      read_before_(BytesRead()) {
  try {
    thread_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {  // load without it; CheckRanks reports the reason
  }
}

LoadWatch::~LoadWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LoadWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [this] { return over_; })) {
    if (Signal() != 0) Stop();
    Tell(false);
  }
  Tell(true);
}

void LoadWatch::Tell(bool over) try {
  const double seconds = Now() - began_;
  if (!tells_ || (over ? !told_ : seconds < kSilence)) return;
  told_ = true;
  const int64_t bytes = total_ < 0 ? 0 : BytesReadByOthers() - read_before_;
  for (Observer* observer : request_.observers)
    observer->Loading(
        {.seconds = seconds, .bytes = bytes, .total = bytes <= total_ ? total_ : 0, .over = over});
} catch (const std::exception&) {  // the observer fails again when training begins
}

void LoadWatch::Stop() {
  abandon_();
  try {
    if (tells_)
      for (Observer* observer : request_.observers)
        observer->Message("stopped while reading data; nothing was trained");
  } catch (const std::exception&) {  // the exit status reports the stop
  }
  std::_Exit(128 + Signal());
}

}  // namespace yoke
