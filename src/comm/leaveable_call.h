// LeaveableCall: a library's call that may never return. It runs in a thread of its own, which is
// left to itself once nobody waits for the call any longer.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace yoke {

class LeaveableCall {
 public:
  /// Starts `call`, which returns a status. It owns what it uses, or that stays until the process
  /// ends.
  explicit LeaveableCall(std::function<int()> call);
  /// Waits at most so many seconds for its status; none: it has not returned.
  std::optional<int> WaitFor(double seconds);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<int> status;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace yoke
