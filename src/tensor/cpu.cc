// The host's memory as a device: work runs at once, in the caller.
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "tensor/device.h"

namespace yoke {
namespace {

class CpuStream : public Stream {
 public:
  void Enqueue(std::function<void()> work) override { work(); }
  void Wait() override {}
};

class CpuDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override {
    void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) throw Error(fmt::format("no memory for {} bytes on the CPU", bytes));
    return std::memset(memory, 0, bytes);
  }
  void Free(void* memory) override { std::free(memory); }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<CpuStream>(); }
  void CopyIn(void* device, const void* host, int64_t bytes, Stream&) override {
    std::memcpy(device, host, bytes);
  }
  void CopyOut(void* host, const void* device, int64_t bytes, Stream&) override {
    std::memcpy(host, device, bytes);
  }
  bool IsHost() const override { return true; }

 private:
  std::string name_ = "cpu";
};

}  // namespace

Device& Cpu() {
  static CpuDevice device;
  return device;
}

}  // namespace yoke
