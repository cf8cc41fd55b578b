// CudaContext: one sentence for each failure of the runtime.
#include "tensor/cuda/cuda_context.h"

#include <atomic>

#include "base/check.h"
#include "tensor/cuda/cuda_stream.h"

namespace yoke {
namespace {

std::atomic<const CudaDriver*> given_driver = nullptr;

std::string WordsOf(const CudaDriver* driver, int status) {
  return driver ? driver->text(status) : "no CUDA runtime";
}

}  // namespace

CudaContext::CudaContext(int number, const CudaDriver& driver)
    : number_(number), driver_(driver), name_(fmt::format("cuda:{}", number)) {}

const CudaDriver& CudaContext::Use() const {
  Require({"cudaSetDevice", driver_.set_device(number_)});
  return driver_;
}

void CudaContext::Require(const CudaResult& result) const {
  if (result.status == kCudaSuccess) return;
  throw Error(fmt::format("{} failed: {} (error {} of {})", name_, WordsOf(&driver_, result.status),
                          result.status, result.call));
}

void CudaContext::Fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
}

void CudaContext::ThrowFailure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

const CudaDriver* CudaDriverOfJobs() {
  const CudaDriver* const mock = given_driver;
  return mock ? mock : LinkedCudaDriver();
}

void GiveCudaDriver(const CudaDriver* mock) { given_driver = mock; }

void CheckCuda(int status, std::string_view what) {
  if (status == kCudaSuccess) return;
  throw Error(fmt::format("the GPU failed: {} (error {} of {})",
                          WordsOf(LinkedCudaDriver(), status), status, what));
}

}  // namespace yoke
