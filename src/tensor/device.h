// Device: a memory, its buffers, and the streams that order work on it, once or captured to run
// again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace yoke {

class WorkQueue;

/// A point in a stream's order: the last one that was recorded.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns when everything before it has run; rethrows what that threw.
  virtual void Wait() = 0;
};

/// An ordered queue of copies and kernels on one device. The CPU runs them immediately in the
/// calling thread; other devices run them later, in order.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Copies after everything enqueued before; both are the host's memory or that of the stream's
  /// device, and the host's must stay as it is until Wait.
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
  /// Fills with zeros, likewise.
  virtual void Clear(void* memory, int64_t bytes) = 0;
  /// Makes `event` the point behind everything enqueued so far. One that this stream has recorded
  /// is used again; streams that await it keep the point that it was then. Null: it is made.
  virtual void Record(std::shared_ptr<Event>& event) = 0;
  /// What is enqueued from now on runs after the event, which may be of another stream. If what is
  /// before the event threw, so does this stream's next wait.
  virtual void Await(std::shared_ptr<Event> event) = 0;
  /// Returns when everything enqueued so far has run; rethrows the first exception of the work,
  /// again in every later wait.
  virtual void Wait() = 0;
  /// The same, but no longer than so many seconds; false if the work is not done by then.
  virtual bool WaitFor(double seconds) = 0;
  /// Seconds in which its work ran so far, copies included; 0 where that is not measured.
  virtual double busy_seconds() const { return 0; }
  /// Where CPU kernels for this stream run later (an emulated device); null: not there.
  virtual WorkQueue* work_queue() { return nullptr; }
  /// What the first call's `make()` returned: it ends with the stream, which is whole until then.
  /// Thread-safe.
  template <typename Make>
  void* Attached(const Make& make) {
    std::call_once(once_, [&] { attached_ = make(); });
    return attached_.get();
  }

 protected:
  /// Waits for the work, whatever it throws, and ends what is attached, which may own memory of the
  /// device. The destructor of a stream that runs things later calls it first.
  void End() noexcept;

 private:
  std::once_flag once_;
  std::shared_ptr<void> attached_;
};

/// A device with its own memory. Allocations are 64-byte aligned and zeroed. Large allocations on
/// the CPU start at a huge page and get physical memory when first touched.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  ///< "cpu", "emulated:0"
  /// Throws Error with the size when memory is exhausted.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory, int64_t bytes) = 0;  ///< As allocated; work on it has run.
  virtual std::unique_ptr<Stream> NewStream() = 0;
  virtual bool IsHost() const { return false; }  ///< The CPU can read its memory directly.
  /// The host's memory from which its copies are fastest. Pieces are taken and returned often.
  virtual Device& staging();
  /// Orders all work on a replica's values: passes, vectors, updates, copies (CurrentStream).
  Stream& stream() {
    std::call_once(once_, [this] { stream_ = NewStream(); });
    return *stream_;
  }

 protected:
  Device() = default;
  /// Ends `stream()`. The destructor of a device with memory of its own calls it first: what is
  /// attached to the stream frees some.
  void EndStream() { stream_.reset(); }

 private:
  std::once_flag once_;
  std::unique_ptr<Stream> stream_;
};

/// The host's memory: one stateless instance for the process.
Device& Cpu();
/// Its stream, which has no state either.
Stream& CpuStream();

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

/// What a kernel is made for.
struct Target {
  Device* device = &Cpu();
  Stream* stream = &CpuStream();  ///< Of this device; orders the kernel's calls.
  bool reference = false;         ///< Only reference kernels (tests, old CPUs).
};

/// A step's work, enqueued once and launched again and again as a whole.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Enqueues all of it on the stream that it was captured from. Addresses and numbers are those of
  /// the capture; the memory's contents are those at that time.
  virtual void Launch() = 0;
  virtual int64_t nodes() const = 0;  ///< Kernels, copies and the like.
};

/// A stream whose work can be captured.
class CapturingStream {
 public:
  virtual ~CapturingStream() = default;
  /// From now on work is listed and does not run. Until the end nothing may wait for the stream, no
  /// memory of the device may be taken or freed, and pageable memory may not be copied; awaited
  /// events are those recorded since.
  virtual void BeginCapture() = 0;
  /// Throws Error if the capture broke a rule.
  virtual std::unique_ptr<CapturedWork> EndCapture() = 0;
  /// Ends a capture that failed; its work is gone.
  virtual void AbandonCapture() = 0;
};

}  // namespace yoke
