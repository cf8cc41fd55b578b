// Crew: threads that wait for work, each with an OpenMP team of its own, bound to its cores.
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

class Crew {
 public:
  /// A member for each plan: a thread whose kernels use the plan's threads on the plan's places.
  explicit Crew(const std::vector<ThreadPlan>& members);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  /// Calls work(i) on each member i at the same time and waits for all of them. Memory that a
  /// member touches first lies on its memory node. The first exception is thrown again here.
  void Run(const std::function<void(int)>& work);

 private:
  void Serve(int member, const ThreadPlan& plan);
  void Dismiss();  ///< Ends and joins the threads there are.

  std::mutex mutex_;
  std::condition_variable called_, done_;
  const std::function<void(int)>* work_ = nullptr;  ///< Null: the crew is dismissed.
  uint64_t calls_ = 0;
  int busy_ = 0;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace yoke
