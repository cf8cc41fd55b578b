// An emulated device: separate memory, an asynchronous queue and a settable speed, computed on the
// CPU. It tests every path of a second device without a GPU.
#pragma once

#include <functional>
#include <memory>

#include "tensor/device.h"

namespace yoke {

struct EmulatedSpeed {
  double copy_bytes_per_second = 0;  ///< 0: as fast as the CPU.
  double slowdown = 1;               ///< Factor on the CPU's time for the same work.
};

/// Its addresses are not readable: the host faults where it touches this memory. Only work on its
/// queue reaches it, at addresses of its own (WorkQueue::Reach).
std::unique_ptr<Device> NewEmulatedDevice(int index, EmulatedSpeed speed);

/// Work that runs later, in order, on an emulated device.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  /// Runs `work` after everything enqueued before. It reaches the device's memory by Reach alone.
  virtual void Enqueue(std::function<void()> work) = 0;
  /// Where work on this queue finds the device's memory; other addresses stay as they are.
  void* Reach(const void* address) const {
    const auto* byte = static_cast<const char*>(address);
    const bool mine = byte >= begin_ && byte < end_;
    return const_cast<char*>(mine ? byte + distance_ : byte);
  }

 protected:
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  int64_t distance_ = 0;
};

}  // namespace yoke
