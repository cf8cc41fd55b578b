// Events: what happens at stated times, for tests that restate in one process what ranks or workers
// do in virtual time.
#pragma once

#include <functional>
#include <map>
#include <utility>

namespace yoke::test {

/// Things that happen in the order of their times, of equal ones in the order of At.
class Events {
 public:
  /// Calls it when all that is earlier has happened; it may add more.
  void At(double time, std::function<void()> what) { queue_.emplace(time, std::move(what)); }
  void Run() {
    while (!queue_.empty()) {
      const auto next = queue_.extract(queue_.begin());
      now_ = next.key();
      next.mapped()();
    }
  }
  /// The time of what happens now.
  double now() const { return now_; }

 private:
  std::multimap<double, std::function<void()>> queue_;
  double now_ = 0;
};

}  // namespace yoke::test
