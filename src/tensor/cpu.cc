// The host's memory as a device: work runs at once, in the caller. Large pieces lie in huge pages:
// rows of wide layers are read at random, and each ordinary page of 4 KiB would cost a walk through
// the page tables.
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/memory.h"
#include "base/round_up.h"
#include "tensor/device.h"

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

/// Zeros that the system makes when they are first touched. Ordinary pages serve for what fills no
/// huge one, and where the system has none.
char* MapHugePages(int64_t bytes) {
  const int64_t size = RoundUp(bytes, kHugePage), spare = size + kHugePage;
  void* mapped = mmap(nullptr, spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) NoMemory(bytes);
  char* const begin = static_cast<char*>(mapped);
  const int64_t before = -reinterpret_cast<intptr_t>(begin) & (kHugePage - 1);
  if (before > 0) munmap(begin, before);
  munmap(begin + before + size, kHugePage - before);
  madvise(begin + before, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return begin + before;
}

class CpuStream : public Stream {
 public:
  void Enqueue(std::function<void()> work) override { work(); }
  void Wait() override {}
};

class CpuDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override {
    Reserve(bytes);
    try {
      return Take(bytes);
    } catch (...) {
      reserved_ -= bytes;
      throw;
    }
  }
  void Free(void* memory, int64_t bytes) override {
    reserved_ -= bytes;
    if (bytes >= kLarge)
      munmap(memory, RoundUp(bytes, kHugePage));
    else
      std::free(memory);
  }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<CpuStream>(); }
  void CopyIn(void* device, const void* host, int64_t bytes, Stream&) override {
    std::memcpy(device, host, bytes);
  }
  void CopyOut(void* host, const void* device, int64_t bytes, Stream&) override {
    std::memcpy(host, device, bytes);
  }
  bool IsHost() const override { return true; }

 private:
  /// The system would promise more than it has, and end the process when that is touched.
  void Reserve(int64_t bytes) {
    static const int64_t usable = UsableMemory();
    const int64_t before = reserved_.fetch_add(bytes);
    if (bytes <= usable - before) return;
    reserved_ -= bytes;
    throw UserError(fmt::format(
        "the model needs {} of memory beside the {} that it has, and this process may use {}: take "
        "a smaller model, a smaller batch or fewer replicas (`yoke info JOB` says what takes it)",
        Gigabytes(bytes), Gigabytes(before), Gigabytes(usable)));
  }

  static void* Take(int64_t bytes) {
    if (bytes >= kLarge) return MapHugePages(bytes);
    void* memory = std::aligned_alloc(64, RoundUp(bytes, 64));
    if (!memory) NoMemory(bytes);
    return std::memset(memory, 0, bytes);
  }

  std::atomic<int64_t> reserved_ = 0;
  std::string name_ = "cpu";
};

}  // namespace

Device& Cpu() {
  static CpuDevice device;
  return device;
}

}  // namespace yoke
