// Device: where memory lives and in which order work on it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace yoke {

/// An ordered queue of work on one device. The CPU runs work at once in the caller; other devices
/// later, in order.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Runs `work` after everything enqueued before. Work must only touch memory that outlives it.
  virtual void Enqueue(std::function<void()> work) = 0;
  /// Returns when everything enqueued so far has run; throws what the work threw.
  virtual void Wait() = 0;
};

/// A place with memory of its own. Allocation is 64-byte aligned and zeroed. Large pieces of the
/// CPU's memory begin at a huge page and are taken from the system when they are first touched.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  ///< "cpu", "emulated:0"
  virtual void* Allocate(
      int64_t bytes) = 0;  ///< Throws Error naming the size where there is too little.
  virtual void Free(void* memory, int64_t bytes) = 0;  ///< `bytes` as they were allocated.
  virtual std::unique_ptr<Stream> NewStream() = 0;
  /// Copies between host memory and this device's, ordered on `stream`.
  virtual void CopyIn(void* device, const void* host, int64_t bytes, Stream& stream) = 0;
  virtual void CopyOut(void* host, const void* device, int64_t bytes, Stream& stream) = 0;
  virtual bool IsHost() const { return false; }  ///< Memory can be read by the CPU directly.
};

/// The host's memory; one instance for the process, without state.
Device& Cpu();

/// How fast an emulated device pretends to be.
struct EmulatedSpeed {
  double copy_bytes_per_second = 0;  ///< 0: as fast as the CPU.
  double slowdown = 1;               ///< Work takes this many times as long as on the CPU.
};

/// A device with a separate memory, an asynchronous queue and a settable speed, computed on the
/// CPU: every heterogeneous path is tested with it where there is no GPU.
std::unique_ptr<Device> NewEmulatedDevice(int index, EmulatedSpeed speed);

/// Owns a piece of one device's memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, int64_t bytes)
      : device_(&device), data_(bytes ? device.Allocate(bytes) : nullptr), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_), std::swap(data_, other.data_),
        std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_) device_->Free(data_, bytes_);
  }
  void* data() const { return data_; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(data_);
  }
  int64_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace yoke
