// Queued: a CPU kernel whose calls run later, on an emulated device's queue and memory.
#pragma once

#include <memory>
#include <utility>

#include "kernels/kernel.h"
#include "kernels/threads.h"
#include "tensor/emulated.h"

namespace yoke {

template <typename Call>
class Queued : public Kernel<Call> {
 public:
  Queued(std::unique_ptr<Kernel<Call>> kernel, Stream& stream)
      : kernel_(std::move(kernel)), queue_(*stream.work_queue()), threads_(KernelThreads()) {}

  void Forward(const Call& call) override { Enqueue(call, &Kernel<Call>::Forward); }
  void Backward(const Call& call) override { Enqueue(call, &Kernel<Call>::Backward); }
  int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  int64_t saved_bytes() const override { return kernel_->saved_bytes(); }
  std::string name() const override { return kernel_->name(); }

 private:
  void Enqueue(Call call, void (Kernel<Call>::*pass)(const Call&)) {
    call.Addresses([this](auto*&... addresses) {
      ((addresses =
            static_cast<std::remove_reference_t<decltype(addresses)>>(queue_.Reach(addresses))),
       ...);
    });
    // The kernel is shared: it lives until its last call has run.
    queue_.Enqueue([kernel = kernel_, call = std::move(call), pass, threads = threads_] {
      SetKernelThreads(threads);
      (kernel.get()->*pass)(call);
    });
  }

  std::shared_ptr<Kernel<Call>> kernel_;
  WorkQueue& queue_;
  int threads_;  // of the caller's team: results depend on it
};

}  // namespace yoke
