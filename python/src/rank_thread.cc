// RankThread: rank and thread take turns; whose turn it is says who runs.
#include "rank_thread.h"

#include <nanobind/nanobind.h>

#include "base/thread.h"

namespace nb = nanobind;

namespace yoke::python {

RankThread::RankThread() : thread_(StartThread([this] { Loop(); })) {}

RankThread::~RankThread() {
  Give(Turn::kEnd);
  thread_.join();
}

void RankThread::Give(Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
  }
  changed_.notify_all();
}

void RankThread::Await(Turn turn) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == turn; });
}

/// Until the thread has ended its work (kRank) or asks for a call (kCall).
RankThread::Turn RankThread::AwaitThread() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ != Turn::kThread; });
  return turn_;
}

void RankThread::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return turn_ == Turn::kThread || turn_ == Turn::kEnd; });
      if (turn_ == Turn::kEnd) return;
    }
    {
      const nb::gil_scoped_acquire acquire;
      try {
        (*work_)();
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    Give(Turn::kRank);
  }
}

void RankThread::Run(const std::function<void()>& work) {
  work_ = &work;
  failure_ = call_failure_ = nullptr;
  Give(Turn::kThread);
  while (AwaitThread() == Turn::kCall) {
    try {
      (*call_)();
    } catch (...) {
      call_failure_ = std::current_exception();
    }
    Give(Turn::kThread);
  }
  const std::exception_ptr failure = call_failure_ ? call_failure_ : failure_;
  if (call_failure_ && failure_) {  // Python's own exception is freed under its lock
    const nb::gil_scoped_acquire acquire;
    failure_ = nullptr;
  }
  if (failure) std::rethrow_exception(failure);
}

void RankThread::Ask(const std::function<void()>& call) {
  {
    const nb::gil_scoped_release release;
    call_ = &call;
    Give(Turn::kCall);
    Await(Turn::kThread);
  }
  if (!call_failure_) return;
  try {
    std::rethrow_exception(call_failure_);
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // RankDied, which is no error
    throw nb::builtin_exception(nb::exception_type::runtime_error, "this rank's node has failed");
  }
}

}  // namespace yoke::python
