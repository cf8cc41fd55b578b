// An emulated device: separate memory, an asynchronous queue and a settable speed, computed on the
// CPU.
#include "tensor/emulated.h"

#include <sys/mman.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/countdown.h"
#include "base/thread.h"
#include "tensor/devices.h"

namespace yoke {
namespace {

void SleepFor(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(WaitTime(seconds));
}

/// Address space in two halves: the addresses that are handed out, which nobody may touch, and as
/// far behind each of them the memory itself. Only what is allocated takes memory.
class SeparateMemory {
 public:
  SeparateMemory() {
    void* const mapped =
        mmap(nullptr, 2 * kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
      throw Error("the system has no address space for an emulated device (`ulimit -v unlimited`)");
    begin_ = static_cast<char*>(mapped);
    free_[0] = kSize;
  }
  ~SeparateMemory() { munmap(begin_, 2 * kSize); }
  SeparateMemory(const SeparateMemory&) = delete;
  SeparateMemory& operator=(const SeparateMemory&) = delete;

  /// The first free piece that is large enough.
  void* Allocate(int64_t bytes) {
    const int64_t size = SizeOf(bytes);
    const std::lock_guard lock(mutex_);
    auto piece = free_.begin();
    while (piece != free_.end() && piece->second < size) ++piece;
    if (piece == free_.end()) throw Error("an emulated device is out of address space");
    const auto [at, room] = *piece;
    if (mprotect(begin_ + kSize + at, size - kPage, PROT_READ | PROT_WRITE) != 0)
      throw Error("the system has no memory for an emulated device");
    free_.erase(piece);
    if (room > size) free_[at + size] = room - size;
    return begin_ + at;
  }

  void Free(void* memory, int64_t bytes) {
    const int64_t size = SizeOf(bytes), at = static_cast<char*>(memory) - begin_;
    const std::lock_guard lock(mutex_);
    madvise(begin_ + kSize + at, size, MADV_DONTNEED);  // zeros when it is taken again
    mprotect(begin_ + kSize + at, size, PROT_NONE);
    const auto piece = free_.emplace(at, size).first;
    Join(piece);
    if (piece != free_.begin()) Join(std::prev(piece));
  }

  const char* begin() const { return begin_; }
  static constexpr int64_t kSize = int64_t{1} << 37;

 private:
  using Pieces = std::map<int64_t, int64_t>;

  static constexpr int64_t kPage = 4096;
  /// With a page behind it that faults.
  static int64_t SizeOf(int64_t bytes) { return RoundUp(bytes, kPage) + kPage; }

  /// With the next piece, if it follows at once.
  void Join(Pieces::iterator piece) {
    const auto next = std::next(piece);
    if (next == free_.end() || piece->first + piece->second != next->first) return;
    piece->second += next->second;
    free_.erase(next);
  }

  std::mutex mutex_;
  char* begin_ = nullptr;
  Pieces free_;  // offsets and sizes
};

/// An event that a worker thread announces. Its points have numbers.
class AnnouncedEvent : public Event {
 public:
  /// The number of a new point.
  int64_t Next() {
    const std::lock_guard lock(mutex_);
    return ++last_;
  }
  int64_t last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void Announce(int64_t point, std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      past_ = std::max(past_, point);
      failure_ = std::move(failure);
    }
    changed_.notify_all();
  }
  void Wait() override { WaitFor(last()); }
  void WaitFor(int64_t point) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, point] { return past_ >= point; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t last_ = 0, past_ = 0;
  std::exception_ptr failure_;
};

/// One worker thread runs what is enqueued, in order; kernels take `slowdown` times as long as they
/// really do.
class EmulatedStream : public Stream, public WorkQueue {
 public:
  /// The memory stays as long as the stream, which may be left alone (DeviceReplica).
  EmulatedStream(std::shared_ptr<const SeparateMemory> memory, EmulatedSpeed speed)
      : speed_(speed),
        memory_(std::move(memory)),
        worker_(StartThread<std::jthread>([this] { Work(); })) {
    begin_ = memory_->begin();
    end_ = begin_ + SeparateMemory::kSize;
    distance_ = SeparateMemory::kSize;
  }
  ~EmulatedStream() override {
    End();
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
  }

  void Enqueue(std::function<void()> work) override {
    Push({.run = std::move(work), .slowdown = speed_.slowdown});
  }

  void Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return;
    const double rate = speed_.copy_bytes_per_second;
    Push({.run = [to = Reach(to), from = Reach(from), bytes] { std::memmove(to, from, bytes); },
          .more_seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0});
  }

  void Clear(void* memory, int64_t bytes) override {
    if (bytes > 0) Push({[to = Reach(memory), bytes] { std::memset(to, 0, bytes); }});
  }

  void Record(std::shared_ptr<Event>& event) override {
    auto own = std::dynamic_pointer_cast<AnnouncedEvent>(event);
    if (!own) event = own = std::make_shared<AnnouncedEvent>();
    Push({.run = [this, own, point = own->Next()] { own->Announce(point, Failure()); }});
  }
  void Await(std::shared_ptr<Event> event) override {
    const auto own = std::dynamic_pointer_cast<AnnouncedEvent>(event);
    if (own)
      Push({.run = [own, point = own->last()] { own->WaitFor(point); }, .works = false});
    else
      Push({.run = [event = std::move(event)] { event->Wait(); }, .works = false});
  }

  double busy_seconds() const override {
    const std::lock_guard lock(mutex_);
    return busy_seconds_;
  }
  WorkQueue* work_queue() override { return this; }

  void Wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, all = pushed_] { return done_ >= all; });
    ThrowFailure();
  }
  bool WaitFor(double seconds) override {
    std::unique_lock lock(mutex_);
    const auto past = [this, all = pushed_] { return done_ >= all; };
    if (!yoke::WaitFor(changed_, lock, seconds, past)) return false;
    ThrowFailure();
    return true;
  }

 private:
  struct Item {
    std::function<void()> run;
    double slowdown = 1;      ///< Of kernels; copies have a speed of their own.
    double more_seconds = 0;  ///< That it takes besides.
    bool works = true;        ///< Not when it waits for another stream.
  };

  std::exception_ptr Failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  void ThrowFailure() {
    if (failure_) std::rethrow_exception(failure_);
  }

  void Push(Item item) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(item));
      ++pushed_;
    }
    changed_.notify_all();
  }

  void Work() {
    for (Item work = Next(); work.run; work = Next()) {
      const double start = Now(), computing = ThreadCpuSeconds();
      try {
        work.run();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      SleepOff(work.more_seconds + (work.slowdown - 1) * (ThreadCpuSeconds() - computing));
      {
        const std::lock_guard lock(mutex_);
        if (work.works) busy_seconds_ += Now() - start;
        ++done_;
      }
      changed_.notify_all();
    }
  }

  /// Sleeps so long, in pieces that are long beside the timer's accuracy. It also sleeps less for
  /// having slept too long.
  void SleepOff(double seconds) {
    constexpr double kPiece = 2e-4;
    owed_ += seconds;
    if (owed_ < kPiece) return;
    const double began = Now();
    SleepFor(owed_);
    owed_ -= Now() - began;
  }

  /// The next piece of work; an empty one when the stream closes and nothing is left.
  Item Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return {};
    Item work = std::move(queue_.front());
    queue_.pop_front();
    return work;
  }

  const EmulatedSpeed speed_;
  const std::shared_ptr<const SeparateMemory> memory_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  int64_t pushed_ = 0, done_ = 0;
  double busy_seconds_ = 0;
  double owed_ = 0;  // seconds of emulated work, of the worker
  bool closing_ = false;
  std::exception_ptr failure_;
  std::jthread worker_;  // last: it starts when all the rest is there, and is joined first
};

class EmulatedDevice : public Device {
 public:
  EmulatedDevice(int index, EmulatedSpeed speed)
      : name_(fmt::format("emulated:{}", index)), speed_(speed) {}
  ~EmulatedDevice() override { EndStream(); }

  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override {
    ReserveMemory(bytes);
    try {
      return memory_->Allocate(bytes);
    } catch (...) {
      ReturnMemory(bytes);
      throw;
    }
  }
  void Free(void* memory, int64_t bytes) override {
    ReturnMemory(bytes);
    memory_->Free(memory, bytes);
  }
  std::unique_ptr<Stream> NewStream() override {
    return std::make_unique<EmulatedStream>(memory_, speed_);
  }

 private:
  std::string name_;
  EmulatedSpeed speed_;
  std::shared_ptr<SeparateMemory> memory_ = std::make_shared<SeparateMemory>();
};

}  // namespace

std::unique_ptr<Device> NewEmulatedDevice(int index, EmulatedSpeed speed) {
  return std::make_unique<EmulatedDevice>(index, speed);
}

namespace device {

DeviceEntry emulated() {
  return {.name = "emulated",
          .summary = "A second memory and an asynchronous queue, computed on the CPU",
          .numbered = true,
          .chosen_by_all = false,
          .usable = [] { return std::vector{0}; },
          .make =
              [](int number, const DeviceSettings& settings) {
                return std::shared_ptr<Device>(NewEmulatedDevice(number, settings.emulated));
              }};
}

}  // namespace device

}  // namespace yoke
