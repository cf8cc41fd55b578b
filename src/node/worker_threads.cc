// WorkerThreads: calls are numbered, so that no member misses or repeats one.
#include "node/worker_threads.h"

#include <utility>

#include "base/thread.h"
#include "kernels/threads.h"

namespace yoke {

WorkerThreads::WorkerThreads(const std::vector<ThreadPlan>& members)
    : busy_(static_cast<int>(members.size())) {
  try {
    for (size_t i = 0; i < members.size(); ++i)
      threads_.push_back(
          StartThread([this, i, plan = members[i]] { Serve(static_cast<int>(i), plan); }));
    Await();
  } catch (...) {
    Dismiss();
    throw;
  }
}

WorkerThreads::~WorkerThreads() { Dismiss(); }

void WorkerThreads::Dismiss() {
  {
    const std::lock_guard lock(mutex_);
    work_ = nullptr;
    ++calls_;
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Run(const std::function<void(int)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = size();
    ++calls_;
  }
  called_.notify_all();
  Await();
}

void WorkerThreads::Await() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerThreads::Serve(int member, const ThreadPlan& plan) {
  const Binding binding(plan);
  Do([&plan] { SetKernelThreads(plan.threads); });
  for (uint64_t served = 0;; ++served) {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return calls_ != served; });
    const std::function<void(int)>* const work = work_;
    lock.unlock();
    if (!work) return;
    Do([&] { (*work)(member); });
  }
}

void WorkerThreads::Do(const std::function<void()>& work) {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (failure && !failure_) failure_ = failure;
  if (--busy_ == 0) done_.notify_one();
}

}  // namespace yoke
