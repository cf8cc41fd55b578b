// Device: a memory, and the order in which work on it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace yoke {

/// An ordered queue of work on one device. The CPU runs work immediately in the calling thread;
/// other devices run it later, in order.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Runs `work` after everything enqueued before. `work` may only touch memory that outlives it.
  virtual void Enqueue(std::function<void()> work) = 0;
  /// Returns when everything enqueued so far has run; rethrows an exception of the work.
  virtual void Wait() = 0;
};

/// A device with its own memory. Allocations are 64-byte aligned and zeroed. Large allocations on
/// the CPU start at a huge page and get physical memory when first touched.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  ///< "cpu", "emulated:0"
  /// Throws Error with the size when memory is exhausted.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory, int64_t bytes) = 0;  ///< `bytes` as allocated.
  virtual std::unique_ptr<Stream> NewStream() = 0;
  /// Copies between host memory and this device's, ordered on `stream`.
  virtual void CopyIn(void* device, const void* host, int64_t bytes, Stream& stream) = 0;
  virtual void CopyOut(void* host, const void* device, int64_t bytes, Stream& stream) = 0;
  virtual bool IsHost() const { return false; }  ///< The CPU can read its memory directly.
};

/// The host's memory: one stateless instance for the process.
Device& Cpu();

/// Speed of an emulated device.
struct EmulatedSpeed {
  double copy_bytes_per_second = 0;  ///< 0: as fast as the CPU.
  double slowdown = 1;               ///< Factor on the CPU's time for the same work.
};

/// A device that computes on the CPU but has separate memory, an asynchronous queue and a settable
/// speed. It tests every heterogeneous path without a GPU.
std::unique_ptr<Device> NewEmulatedDevice(int index, EmulatedSpeed speed);

/// Owns an allocation on one device.
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
