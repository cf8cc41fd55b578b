// A device that counts what crosses between it and the CPU.
#pragma once

#include <atomic>

#include "tensor/device.h"

namespace yoke::test {

class CountingDevice : public Device {
 public:
  const std::string& name() const override { return device_->name(); }
  void* Allocate(int64_t bytes) override { return device_->Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { device_->Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override { return device_->NewStream(); }
  void CopyIn(void* device, const void* host, int64_t bytes, Stream& stream) override {
    crossed_ += bytes;
    device_->CopyIn(device, host, bytes, stream);
  }
  void CopyOut(void* host, const void* device, int64_t bytes, Stream& stream) override {
    crossed_ += bytes;
    device_->CopyOut(host, device, bytes, stream);
  }
  int64_t crossed() const { return crossed_; }

 private:
  std::unique_ptr<Device> device_ = NewEmulatedDevice(0, {});
  std::atomic<int64_t> crossed_ = 0;
};

}  // namespace yoke::test
