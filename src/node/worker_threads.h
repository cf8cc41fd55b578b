// WorkerThreads: threads that run a call together, each with its own OpenMP team, bound to its
// cores.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/topology.h"

namespace yoke {

class WorkerThreads {
 public:
  /// Starts one member per plan: a thread whose kernels use the plan's threads on the plan's cores.
  /// Throws Error if the system refuses threads.
  explicit WorkerThreads(const std::vector<ThreadPlan>& members);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  /// Calls work(i) on all members i concurrently and waits for all of them. Memory that a member
  /// touches first is allocated on its memory node. Rethrows the first exception.
  void Run(const std::function<void(int)>& work);

 private:
  void Serve(int member, const ThreadPlan& plan);
  /// A member's work of this call; keeps what it throws for the caller.
  void Do(const std::function<void()>& work);
  void Await();    ///< Until all members have done theirs. Rethrows the first exception.
  void Dismiss();  ///< Ends and joins the running threads.

  std::mutex mutex_;
  std::condition_variable called_, done_;
  const std::function<void(int)>* work_ = nullptr;  ///< Null: the workers are dismissed.
  uint64_t calls_ = 0;
  int busy_ = 0;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace yoke
