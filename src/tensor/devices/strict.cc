// Strict: an emulated device at full speed that counts. The counting device passes every call on;
// it tells device, staging and other host memory apart by what was allocated.
#include "base/check.h"
#include "tensor/counting.h"
#include "tensor/devices.h"

namespace yoke {
namespace {

/// Allocated pieces of memory.
class AllocatedPieces {
 public:
  void Add(const void* memory, int64_t bytes) { pieces_[static_cast<const char*>(memory)] = bytes; }
  void Remove(const void* memory) { pieces_.erase(static_cast<const char*>(memory)); }
  bool Contain(const void* address) const {
    const auto* const byte = static_cast<const char*>(address);
    const auto after = pieces_.upper_bound(byte);
    if (after == pieces_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return byte < begin + bytes;
  }

 private:
  std::map<const char*, int64_t> pieces_;  // sizes by address
};

}  // namespace

/// Counts and memory, for all threads.
class CountingDevice::Ledger {
 public:
  void CountWait(const char* call) {
    const std::lock_guard lock(mutex_);
    ++Of(call).waits;
  }
  void CountAllocation(const void* memory, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    ++Of("Allocate").allocations;
    device_.Add(memory, bytes);
  }
  void CountFree(const void* memory) {
    const std::lock_guard lock(mutex_);
    ++Of("Free").frees;
    device_.Remove(memory);
  }
  void CountEvent() {
    const std::lock_guard lock(mutex_);
    ++Of("Record").events;
  }
  void CountCopy(const void* to, const void* from, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const bool was_there = device_.Contain(from), is_there = device_.Contain(to);
    if (was_there && !is_there) ++Of("Copy").host_reads;
    if (is_there && !was_there) Of("Copy").bytes_sent += bytes;
    if (IsPageable(from) || IsPageable(to)) ++Of("Copy").pageable_copies;
  }
  void AddStaging(const void* memory, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    staging_.Add(memory, bytes);
  }
  void RemoveStaging(const void* memory) {
    const std::lock_guard lock(mutex_);
    staging_.Remove(memory);
  }
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  DeviceCounts& Of(const char* call) {
    const char* const cause = CountedAs::Current();
    return counts_[cause ? cause : call];
  }
  bool IsPageable(const void* address) const {
    return !device_.Contain(address) && !staging_.Contain(address);
  }

  mutable std::mutex mutex_;
  Counts counts_;
  AllocatedPieces device_, staging_;
};

/// The inner device's staging memory, whose pieces are known.
class CountingDevice::Staging : public Device {
 public:
  Staging(Device& inner, std::shared_ptr<Ledger> ledger)
      : inner_(inner), ledger_(std::move(ledger)) {}
  const std::string& name() const override { return inner_.name(); }
  void* Allocate(int64_t bytes) override {
    void* const memory = inner_.Allocate(bytes);
    ledger_->AddStaging(memory, bytes);
    return memory;
  }
  void Free(void* memory, int64_t bytes) override {
    ledger_->RemoveStaging(memory);
    inner_.Free(memory, bytes);
  }
  std::unique_ptr<Stream> NewStream() override { return inner_.NewStream(); }
  bool IsHost() const override { return inner_.IsHost(); }

 private:
  Device& inner_;
  std::shared_ptr<Ledger> ledger_;
};

class CountingDevice::CountedEvent : public Event {
 public:
  explicit CountedEvent(std::shared_ptr<Ledger> ledger) : ledger_(std::move(ledger)) {
    ledger_->CountEvent();
  }
  void Wait() override {
    ledger_->CountWait("Event::Wait");
    inner_->Wait();
  }
  std::shared_ptr<Event>& inner() { return inner_; }

 private:
  std::shared_ptr<Event> inner_;
  std::shared_ptr<Ledger> ledger_;
};

class CountingDevice::CountedStream : public Stream {
 public:
  CountedStream(std::unique_ptr<Stream> inner, std::shared_ptr<Ledger> ledger)
      : inner_(std::move(inner)), ledger_(std::move(ledger)) {}
  ~CountedStream() override { End(); }
  void Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) ledger_->CountCopy(to, from, bytes);
    inner_->Copy(to, from, bytes);
  }
  void Clear(void* memory, int64_t bytes) override { inner_->Clear(memory, bytes); }
  void Record(std::shared_ptr<Event>& event) override {
    auto counted = std::dynamic_pointer_cast<CountedEvent>(event);
    if (!counted) event = counted = std::make_shared<CountedEvent>(ledger_);
    inner_->Record(counted->inner());
  }
  /// The stream waits, not its caller.
  void Await(std::shared_ptr<Event> event) override {
    auto* const counted = dynamic_cast<CountedEvent*>(event.get());
    inner_->Await(counted ? counted->inner() : event);
  }
  void Wait() override {
    ledger_->CountWait("Wait");
    inner_->Wait();
  }
  bool WaitFor(double seconds) override {
    ledger_->CountWait("WaitFor");
    return inner_->WaitFor(seconds);
  }
  double busy_seconds() const override { return inner_->busy_seconds(); }
  WorkQueue* work_queue() override { return inner_->work_queue(); }

 private:
  std::unique_ptr<Stream> inner_;
  std::shared_ptr<Ledger> ledger_;
};

CountingDevice::CountingDevice(std::string name, std::unique_ptr<Device> inner)
    : name_(std::move(name)),
      inner_(std::move(inner)),
      ledger_(std::make_shared<Ledger>()),
      staging_(std::make_unique<Staging>(inner_->staging(), ledger_)) {}

CountingDevice::~CountingDevice() { EndStream(); }

CountingDevice::Counts CountingDevice::counts() const { return ledger_->counts(); }

void* CountingDevice::Allocate(int64_t bytes) {
  void* const memory = inner_->Allocate(bytes);
  ledger_->CountAllocation(memory, bytes);
  return memory;
}

void CountingDevice::Free(void* memory, int64_t bytes) {
  ledger_->CountFree(memory);
  inner_->Free(memory, bytes);
}

std::unique_ptr<Stream> CountingDevice::NewStream() {
  return std::make_unique<CountedStream>(inner_->NewStream(), ledger_);
}

namespace device {

DeviceEntry strict() {
  return {.name = "strict",
          .summary = "An emulated device at full speed, which counts what would hold up a GPU",
          .numbered = true,
          .chosen_by_all = false,
          .as_fast_as = "cpu",
          .usable = [] { return std::vector{0}; },
          .make =
              [](int number, const DeviceSettings& /*settings*/) {
                return std::shared_ptr<Device>(std::make_shared<CountingDevice>(
                    fmt::format("strict:{}", number), NewEmulatedDevice(number, {})));
              }};
}

}  // namespace device

}  // namespace yoke
