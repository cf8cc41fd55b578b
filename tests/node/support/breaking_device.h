// An emulated device that breaks.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "tensor/emulated.h"

namespace yoke::testing_support {

/// Its streams throw at their n-th wait, and at all later ones.
class BreakingDevice : public Device {
 public:
  explicit BreakingDevice(int waits) : waits_(waits) {}
  const std::string& name() const override { return inner_->name(); }
  void* Allocate(int64_t bytes) override { return inner_->Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { inner_->Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override {
    return std::make_unique<Breaking>(inner_->NewStream(), waits_);
  }

 private:
  class Breaking : public Stream {
   public:
    Breaking(std::unique_ptr<Stream> inner, int waits) : inner_(std::move(inner)), left_(waits) {}
    void Copy(void* to, const void* from, int64_t bytes) override { inner_->Copy(to, from, bytes); }
    void Clear(void* memory, int64_t bytes) override { inner_->Clear(memory, bytes); }
    void Wait() override {
      inner_->Wait();
      if (--left_ <= 0) throw std::runtime_error("the cable is out");
    }
    double busy_seconds() const override { return inner_->busy_seconds(); }
    WorkQueue* work_queue() override { return inner_->work_queue(); }

   private:
    std::unique_ptr<Stream> inner_;
    int left_;
  };

  std::unique_ptr<Device> inner_ = NewEmulatedDevice(0, {});
  int waits_;
};

}  // namespace yoke::testing_support
