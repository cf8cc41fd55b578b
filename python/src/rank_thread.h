// RankThread: a thread on which Python's code of one rank runs. A rank may be a fiber, on whose
// stack Python's frames must not wait while another rank's run: what waits for other ranks goes
// back to the rank.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace yoke::python {

class RankThread {
 public:
  RankThread();
  ~RankThread();  ///< Without work under way.
  RankThread(const RankThread&) = delete;
  RankThread& operator=(const RankThread&) = delete;

  /// Called by the rank, without Python's lock: runs work() on the thread, which has the lock
  /// there, and meanwhile the calls that it asks for. Rethrows what work() or a call throws; a
  /// call's first.
  void Run(const std::function<void()>& work);
  /// Called by work(): runs call() as the rank, without the lock. Rethrows what it throws.
  void Ask(const std::function<void()>& call);

 private:
  enum class Turn { kRank, kThread, kCall, kEnd };

  void Loop();
  void Give(Turn turn);
  void Await(Turn turn);
  Turn AwaitThread();

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::kRank;
  const std::function<void()>*work_ = nullptr, *call_ = nullptr;
  std::exception_ptr failure_, call_failure_;
  std::thread thread_;
};

}  // namespace yoke::python
