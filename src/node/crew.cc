// Crew: calls are numbered, so that no member misses or repeats one.
#include "node/crew.h"

#include <utility>

#include "base/thread.h"
#include "kernels/threads.h"

namespace yoke {

Crew::Crew(const std::vector<ThreadPlan>& members) {
  try {
    for (size_t i = 0; i < members.size(); ++i)
      threads_.push_back(
          StartThread([this, i, plan = members[i]] { Serve(static_cast<int>(i), plan); }));
  } catch (...) {
    Dismiss();
    throw;
  }
}

Crew::~Crew() { Dismiss(); }

void Crew::Dismiss() {
  {
    const std::lock_guard lock(mutex_);
    work_ = nullptr;
    ++calls_;
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::Run(const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  busy_ = size();
  ++calls_;
  called_.notify_all();
  done_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Crew::Serve(int member, const ThreadPlan& plan) {
  const Binding binding(plan);
  SetKernelThreads(plan.threads);
  std::unique_lock lock(mutex_);
  for (uint64_t served = 0;;) {
    called_.wait(lock, [&] { return calls_ != served; });
    served = calls_;
    if (!work_) return;
    const std::function<void(int)>& work = *work_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work(member);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace yoke
