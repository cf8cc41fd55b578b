// An emulated device: separate memory, an asynchronous queue and a settable speed, computed on the
// CPU.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/wait_time.h"
#include "tensor/device.h"

namespace yoke {
namespace {

void SleepFor(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(WaitTime(seconds));
}

/// One worker thread runs what is enqueued, in order; work takes `slowdown` times as long as it
/// really does.
class EmulatedStream : public Stream {
 public:
  explicit EmulatedStream(double slowdown)
      : slowdown_(slowdown), worker_(StartThread<std::jthread>([this] { Work(); })) {}
  ~EmulatedStream() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
  }

  void Enqueue(std::function<void()> work) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
      ++pending_;
    }
    changed_.notify_all();
  }

  void Wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void Work() {
    while (std::function<void()> work = Next()) {
      const double start = Now();
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      SleepFor((slowdown_ - 1) * (Now() - start));
      {
        const std::lock_guard lock(mutex_);
        --pending_;
      }
      changed_.notify_all();
    }
  }

  /// The next piece of work; an empty function when the stream closes and nothing is left.
  std::function<void()> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return nullptr;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    return work;
  }

  const double slowdown_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  int64_t pending_ = 0;
  bool closing_ = false;
  std::exception_ptr failure_;
  std::jthread worker_;  // last: it starts when all the rest is there, and is joined first
};

class EmulatedDevice : public Device {
 public:
  EmulatedDevice(int index, EmulatedSpeed speed)
      : name_(fmt::format("emulated:{}", index)), speed_(speed) {}

  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override { return Cpu().Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { Cpu().Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override {
    return std::make_unique<EmulatedStream>(speed_.slowdown);
  }
  void CopyIn(void* device, const void* host, int64_t bytes, Stream& stream) override {
    Copy(device, host, bytes, stream);
  }
  void CopyOut(void* host, const void* device, int64_t bytes, Stream& stream) override {
    Copy(host, device, bytes, stream);
  }

 private:
  void Copy(void* to, const void* from, int64_t bytes, Stream& stream) {
    const double rate = speed_.copy_bytes_per_second;
    stream.Enqueue([=] {
      std::memcpy(to, from, bytes);
      if (rate > 0) SleepFor(static_cast<double>(bytes) / rate);
    });
  }

  std::string name_;
  EmulatedSpeed speed_;
};

}  // namespace

std::unique_ptr<Device> NewEmulatedDevice(int index, EmulatedSpeed speed) {
  return std::make_unique<EmulatedDevice>(index, speed);
}

}  // namespace yoke
