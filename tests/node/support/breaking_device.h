// An emulated device that breaks or stalls.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tensor/emulated.h"

namespace yoke::testing_support {

/// Its streams throw at their n-th wait and at all later ones; or do no work from the n-th wait on
/// that has a limit.
class BreakingDevice : public Device {
 public:
  enum class How : uint8_t { kThrows, kStalls };
  explicit BreakingDevice(int waits, How how = How::kThrows) : waits_(waits), how_(how) {}
  const std::string& name() const override { return inner_->name(); }
  void* Allocate(int64_t bytes) override { return inner_->Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { inner_->Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override {
    return std::make_unique<Breaking>(inner_->NewStream(), waits_, how_);
  }

 private:
  class Breaking : public Stream {
   public:
    Breaking(std::unique_ptr<Stream> inner, int waits, How how)
        : inner_(std::move(inner)), left_(waits), how_(how) {}
    void Copy(void* to, const void* from, int64_t bytes) override { inner_->Copy(to, from, bytes); }
    void Clear(void* memory, int64_t bytes) override { inner_->Clear(memory, bytes); }
    void Wait() override {
      if (how_ == How::kThrows) --left_;
      inner_->Wait();
      ThrowIfDue();
    }
    bool WaitFor(double seconds) override {
      if (--left_ == 0 && how_ == How::kStalls) Stall();
      const bool done = inner_->WaitFor(seconds);
      ThrowIfDue();
      return done;
    }
    void Record(std::shared_ptr<Event>& event) override { inner_->Record(event); }
    void Await(std::shared_ptr<Event> event) override { inner_->Await(std::move(event)); }
    double busy_seconds() const override { return inner_->busy_seconds(); }
    WorkQueue* work_queue() override { return inner_->work_queue(); }

   private:
    void Stall() {
      inner_->work_queue()->Enqueue([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    }
    void ThrowIfDue() const {
      if (left_ <= 0 && how_ == How::kThrows) throw std::runtime_error("the cable is out");
    }

    std::unique_ptr<Stream> inner_;
    int left_;
    How how_;
  };

  std::unique_ptr<Device> inner_ = NewEmulatedDevice(0, {});
  int waits_;
  How how_;
};

}  // namespace yoke::testing_support
