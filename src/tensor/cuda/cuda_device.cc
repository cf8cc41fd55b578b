// CudaDevice: its memory, and pinned memory of the host for its copies.
#include "tensor/cuda/cuda_device.h"

#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "tensor/cuda/cuda_context.h"
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
  /// So that a piece fits others that are nearly as long: at most an eighth more.
  static int64_t SizeOf(int64_t bytes) {
    constexpr uint64_t kSmallest = 256;
    const auto size = static_cast<uint64_t>(bytes);
    const uint64_t step = std::max(std::bit_floor(size) / 8, kSmallest);
    return static_cast<int64_t>(std::max((size + step - 1) / step, uint64_t{1}) * step);
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
  std::string Bus() const {
    CudaProperties properties;
    const bool told =
        context_->driver().properties(context_->number(), &properties) == kCudaSuccess;
    return told ? properties.bus : "";
  }
  int Use() const { return context_->driver().set_device(context_->number()); }
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

int Found(const CudaDriver* driver) {
  int count = 0;
  return driver && driver->device_count(&count) == kCudaSuccess ? count : 0;
}

/// "this machine has 2 GPUs (cuda:0 to cuda:1)"
std::string HasSoMany(int count) {
  return count == 1 ? "this machine has one GPU, cuda:0"
                    : fmt::format("this machine has {} GPUs, cuda:0 to cuda:{}", count, count - 1);
}

}  // namespace

std::vector<int> UsableCudaDevices(const CudaDriver* driver) {
  std::vector<int> usable;
  for (int number = 0; number < Found(driver); ++number)
    if (WhyNotCudaDevice(number, driver).empty()) usable.push_back(number);
  return usable;
}

std::string WhyNoCudaDevice(const CudaDriver* driver) {
  if (!driver) return "not built with CUDA";
  int count = 0;
  const int status = driver->device_count(&count);
  if (status != kCudaSuccess)
    return fmt::format("built with CUDA, no driver here ({})", driver->text(status));
  return count > 0 ? "" : "built with CUDA, no GPU here";
}

std::string WhyNotCudaDevice(int number, const CudaDriver* driver) {
  if (std::string why = WhyNoCudaDevice(driver); !why.empty()) return why;
  if (const int count = Found(driver); number >= count) return HasSoMany(count);
  CudaProperties gpu;
  if (const int status = driver->properties(number, &gpu); status != kCudaSuccess)
    return driver->text(status);
  const int least = driver->least_capability;
  if (10 * gpu.major + gpu.minor < least)
    return fmt::format("it is a {} of compute capability {}.{}, and this yoke is built for {}.{}",
                       gpu.name, gpu.major, gpu.minor, least / 10, least % 10);
  const char* const missing = driver->missing();
  return missing ? fmt::format("it needs {}, which is not installed here", missing) : "";
}

std::unique_ptr<Device> NewCudaDevice(int number, const CudaDriver& driver) {
  const std::string why = WhyNotCudaDevice(number, &driver);
  Require(why.empty(), "there is no device cuda:{}: {}", number, why);
  return std::make_unique<CudaDevice>(std::make_shared<CudaContext>(number, driver));
}

std::string CudaBusOf(const Device& device) {
  const auto* const gpu = dynamic_cast<const CudaDevice*>(&device);
  return gpu ? gpu->Bus() : "";
}

int UseCudaDevice(const Device& device) {
  const auto* const gpu = dynamic_cast<const CudaDevice*>(&device);
  return gpu ? gpu->Use() : kCudaSuccess;
}

std::vector<CudaDescription> DescribeCudaDevices(const CudaDriver* driver) {
  std::vector<CudaDescription> found;
  for (int number = 0; number < Found(driver); ++number) {
    CudaDescription gpu = {.device = fmt::format("cuda:{}", number),
                           .why_not = WhyNotCudaDevice(number, driver)};
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
