// LeaveableCall: a detached thread and what it shares with who waits.
#include "comm/leaveable_call.h"

#include <utility>

#include "base/clock.h"
#include "base/thread.h"

namespace yoke {

LeaveableCall::LeaveableCall(std::function<int()> call) {
  StartThread([shared = shared_, call = std::move(call)] {
    const int status = call();
    {
      const std::lock_guard lock(shared->mutex);
      shared->status = status;
    }
    shared->changed.notify_all();
  }).detach();
}

std::optional<int> LeaveableCall::WaitFor(double seconds) {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, WaitTime(seconds),
                            [this] { return shared_->status.has_value(); });
  return shared_->status;
}

}  // namespace yoke
