// The host's memory as a device: work runs at once, in the caller. Large pieces lie in huge pages:
// rows of wide layers are read at random, and each ordinary page of 4 KiB would cost a walk through
// the page tables.
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/resources.h"
#include "tensor/devices.h"

namespace yoke {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kLarge = 2 * kHugePage;

std::string Gigabytes(int64_t bytes) {
  return fmt::format("{:.3g} GB", static_cast<double>(bytes) / 1e9);
}

[[noreturn]] void NoMemory(int64_t bytes) {
  throw Error(fmt::format("the system has no memory for {} more", Gigabytes(bytes)));
}

/// What the environment asks for: ordinary pages are for a comparison.
std::string AskedPages() {
  const char* asked = std::getenv("YOKE_HUGE_PAGES");
  return asked && *asked ? asked : "on";
}

/// Zeros that the system makes when they are first touched. Ordinary pages serve for what fills no
/// huge one, and where the system has none.
char* MapHugePages(int64_t bytes) {
  static const int advice =
      (RequirePages(), AskedPages() == "on" ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const int64_t size = RoundUp(bytes, kHugePage), spare = size + kHugePage;
  void* mapped = mmap(nullptr, spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) NoMemory(bytes);
  char* const begin = static_cast<char*>(mapped);
  const int64_t before = -reinterpret_cast<intptr_t>(begin) & (kHugePage - 1);
  if (before > 0) munmap(begin, before);
  munmap(begin + before + size, kHugePage - before);
  madvise(begin + before, bytes / kHugePage * kHugePage, advice);
  return begin + before;
}

class ImmediateStream : public Stream {
 public:
  void Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void Clear(void* memory, int64_t bytes) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
  void Record(std::shared_ptr<Event>& event) override {
    struct Past : Event {
      void Wait() override {}
    };
    static const std::shared_ptr<Event> past = std::make_shared<Past>();
    event = past;
  }
  void Await(std::shared_ptr<Event> event) override { event->Wait(); }
  void Wait() override {}
  bool WaitFor(double /*seconds*/) override { return true; }
};

class CpuDevice : public Device {
 public:
  ~CpuDevice() override { EndStream(); }
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override {
    ReserveMemory(bytes);
    try {
      return Take(bytes);
    } catch (...) {
      ReturnMemory(bytes);
      throw;
    }
  }
  void Free(void* memory, int64_t bytes) override {
    ReturnMemory(bytes);
    if (bytes >= kLarge)
      munmap(memory, RoundUp(bytes, kHugePage));
    else
      std::free(memory);
  }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<ImmediateStream>(); }
  bool IsHost() const override { return true; }

 private:
  static void* Take(int64_t bytes) {
    if (bytes >= kLarge) return MapHugePages(bytes);
    void* memory = std::aligned_alloc(64, RoundUp(bytes, 64));
    if (!memory) NoMemory(bytes);
    return std::memset(memory, 0, bytes);
  }

  std::string name_ = "cpu";
};

std::atomic<int64_t> reserved = 0;

}  // namespace

void RequirePages() {
  const std::string pages = AskedPages();
  Require(pages == "on" || pages == "off",
          "the environment variable YOKE_HUGE_PAGES is '{}', expected on or off", pages);
}

void ReserveMemory(int64_t bytes) {
  static const int64_t usable = UsableMemory();
  const int64_t before = reserved.fetch_add(bytes);
  if (bytes <= usable - before) return;
  reserved -= bytes;
  throw UserError(fmt::format(
      "the model needs {} of memory beside the {} that it has, and this process may use {}: take "
      "a smaller model, a smaller batch or fewer replicas (`yoke info JOB` says what takes it)",
      Gigabytes(bytes), Gigabytes(before), Gigabytes(usable)));
}

void ReturnMemory(int64_t bytes) { reserved -= bytes; }

void Stream::End() noexcept {
  try {
    Wait();
  } catch (const std::exception&) {  // who needed the work has been told
  }
  attached_.reset();
}

Device& Device::staging() { return Cpu(); }

Device& Cpu() {
  static CpuDevice device;
  return device;
}

Stream& CpuStream() {
  static ImmediateStream stream;
  return stream;
}

namespace device {

DeviceEntry cpu() {
  return {.name = "cpu",
          .summary = "The cores of this machine",
          .usable = [] { return std::vector{0}; },
          .make =
              [](int /*number*/, const DeviceSettings& /*settings*/) {
                return std::shared_ptr<Device>(&Cpu(), [](Device* /*lives on*/) {});
              }};
}

}  // namespace device

}  // namespace yoke
