// CudaContext: a GPU's driver and name, and how its calls fail; shared by its streams and events.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/cuda/cuda_driver.h"
#include "tensor/device.h"

namespace yoke {

/// Which call a status is of: {"cudaMalloc", status}.
struct CudaResult {
  std::string_view call;
  int status;
};

/// Thread-safe.
class CudaContext {
 public:
  CudaContext(int number, const CudaDriver& driver);

  const CudaDriver& driver() const { return driver_; }
  int number() const { return number_; }
  const std::string& name() const { return name_; }
  /// The driver, for calls on this GPU: it becomes the calling thread's current one.
  const CudaDriver& Use() const;
  /// Throws Error with one sentence unless the status is kCudaSuccess.
  void Require(const CudaResult& result) const;

  /// What work on the host threw (LaunchOnHost): every later wait for the GPU rethrows it, as for a
  /// failed kernel.
  void Fail(std::exception_ptr failure);
  void ThrowFailure() const;

 private:
  const int number_;
  const CudaDriver& driver_;
  const std::string name_;
  mutable std::mutex mutex_;
  std::exception_ptr failure_;
};

std::unique_ptr<Stream> NewCudaStream(std::shared_ptr<CudaContext> context);

}  // namespace yoke
