// CudaDevice: its memory, and pinned memory of the host for its copies.
#include "tensor/cuda/cuda_device.h"

#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "tensor/cuda/cuda_context.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/devices.h"

namespace yoke {
namespace {

std::string CudaGigabytes(double bytes) { return fmt::format("{:.3g} GB", bytes / 1e9); }

/// Pinned memory of the host. Returned pieces are kept: pinning takes as long as many steps.
class PinnedMemory : public Device {
 public:
  explicit PinnedMemory(std::shared_ptr<CudaContext> context)
      : context_(std::move(context)), name_("pinned memory of " + context_->name()) {}
  ~PinnedMemory() override {
    for (const auto& [size, memory] : idle_) {
      context_->driver().free_pinned(memory);
      ReturnMemory(size);
    }
  }

  const std::string& name() const override { return name_; }
  bool IsHost() const override { return true; }
  std::unique_ptr<Stream> NewStream() override { return Cpu().NewStream(); }

  void* Allocate(int64_t bytes) override {
    const int64_t size = SizeOf(bytes);
    void* const memory = Take(size);
    return std::memset(memory, 0, static_cast<size_t>(bytes));
  }
  void Free(void* memory, int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    idle_.emplace(SizeOf(bytes), memory);
  }

 private:
  static constexpr uint64_t kSmallest = 256;

  /// So that a piece fits others that are nearly as long.
  static int64_t SizeOf(int64_t bytes) {
    return static_cast<int64_t>(std::bit_ceil(std::max(static_cast<uint64_t>(bytes), kSmallest)));
  }

  void* Take(int64_t size) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = idle_.find(size); found != idle_.end()) {
        void* const memory = found->second;
        idle_.erase(found);
        return memory;
      }
    }
    ReserveMemory(size);
    void* memory = nullptr;
    const int status = context_->Use().allocate_pinned(&memory, static_cast<size_t>(size));
    if (status != kCudaSuccess) ReturnMemory(size);
    context_->Require({"cudaHostAlloc", status});
    return memory;
  }

  const std::shared_ptr<CudaContext> context_;
  const std::string name_;
  std::mutex mutex_;
  std::multimap<int64_t, void*> idle_;  // by size
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context)
      : context_(std::move(context)), staging_(context_), clearing_(NewCudaStream(context_)) {}

  ~CudaDevice() override { EndStream(); }

  const std::string& name() const override { return context_->name(); }
  Device& staging() override { return staging_; }
  std::unique_ptr<Stream> NewStream() override { return NewCudaStream(context_); }

  void* Allocate(int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    void* memory = nullptr;
    const int status = context_->Use().allocate(&memory, static_cast<size_t>(bytes));
    if (status == kCudaNoMemory) NoMemory(bytes);
    context_->Require({"cudaMalloc", status});
    try {
      clearing_->Clear(memory, bytes);
      clearing_->Wait();
    } catch (...) {
      context_->driver().free(memory);
      throw;
    }
    return memory;
  }
  /// A failed GPU has told it already.
  void Free(void* memory, int64_t /*bytes*/) override {
    const CudaDriver& driver = context_->driver();
    if (Selected()) driver.free(memory);
  }

 private:
  bool Selected() const {
    try {
      context_->Use();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  [[noreturn]] void NoMemory(int64_t bytes) const {
    size_t free = 0, total = 0;
    context_->Require({"cudaMemGetInfo", context_->driver().memory(&free, &total)});
    throw UserError(fmt::format(
        "{} has no memory for {} more: {} of {} are free: take a smaller model, a smaller batch or "
        "fewer replicas there (`yoke info JOB` says what takes it)",
        context_->name(), CudaGigabytes(static_cast<double>(bytes)),
        CudaGigabytes(static_cast<double>(free)), CudaGigabytes(static_cast<double>(total))));
  }

  const std::shared_ptr<CudaContext> context_;
  PinnedMemory staging_;
  std::mutex mutex_;                        // of clearing_
  const std::unique_ptr<Stream> clearing_;  // of what is allocated
};

/// "this machine has 2 GPUs (cuda:0 to cuda:1)"
std::string HasSoMany(int count) {
  return count == 1 ? "this machine has one GPU, cuda:0"
                    : fmt::format("this machine has {} GPUs, cuda:0 to cuda:{}", count, count - 1);
}

}  // namespace

int CudaDeviceCount(const CudaDriver* driver) {
  int count = 0;
  return driver && driver->device_count(&count) == kCudaSuccess ? count : 0;
}

std::string WhyNoCudaDevice(const CudaDriver* driver) {
  if (!driver) return "not built with CUDA";
  int count = 0;
  const int status = driver->device_count(&count);
  if (status != kCudaSuccess)
    return fmt::format("built with CUDA, no driver here ({})", driver->text(status));
  return count > 0 ? "" : "built with CUDA, no GPU here";
}

std::unique_ptr<Device> NewCudaDevice(int number, const CudaDriver& driver) {
  const std::string why = WhyNoCudaDevice(&driver);
  Require(why.empty(), "there is no device cuda:{}: {}", number, why);
  const int count = CudaDeviceCount(&driver);
  Require(number < count, "there is no device cuda:{}: {}", number, HasSoMany(count));
  return std::make_unique<CudaDevice>(std::make_shared<CudaContext>(number, driver));
}

std::vector<CudaDescription> DescribeCudaDevices(const CudaDriver* driver) {
  std::vector<CudaDescription> found;
  const int count = CudaDeviceCount(driver);
  for (int number = 0; number < count; ++number) {
    CudaDescription gpu = {.device = fmt::format("cuda:{}", number)};
    size_t free = 0, total = 0;
    if (driver->properties(number, &gpu.properties) != kCudaSuccess ||
        driver->set_device(number) != kCudaSuccess || driver->memory(&free, &total) != kCudaSuccess)
      continue;
    gpu.free = static_cast<int64_t>(free);
    gpu.total = static_cast<int64_t>(total);
    found.push_back(gpu);
  }
  return found;
}

}  // namespace yoke
