// CudaDevice: one NVIDIA GPU as a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/cuda_driver.h"
#include "tensor/device.h"

namespace yoke {

/// The GPU with this number, by this driver, which outlives it: "cuda:0". Its streams also are
/// CapturingStream. Memory that it has not is a UserError with what is needed and what is free;
/// every other failure is an Error with the runtime's words. Throws UserError if there is no such
/// GPU.
std::unique_ptr<Device> NewCudaDevice(int number, const CudaDriver& driver);

/// The numbers of the GPUs that this program can use. `driver` may be null.
std::vector<int> UsableCudaDevices(const CudaDriver* driver);
/// Why there is none: "built with CUDA, no driver here (...)"; "": there are some.
std::string WhyNoCudaDevice(const CudaDriver* driver);
/// Why this one cannot be used: there is none, it is too old, a library is missing; "": it can.
std::string WhyNotCudaDevice(int number, const CudaDriver* driver);

/// Its place in the machine: "0000:3b:00.0"; "": it is no GPU, or its driver does not say.
std::string CudaBusOf(const Device& device);

/// Makes a GPU the calling thread's current one, for a library's calls; the runtime's status.
int UseCudaDevice(const Device& device);

/// A GPU as the driver describes it.
struct CudaDescription {
  std::string device;  ///< "cuda:0"
  CudaProperties properties;
  int64_t free = 0, total = 0;  ///< Bytes of its memory.
  std::string why_not;          ///< WhyNotCudaDevice.
};
/// Of all GPUs; those that do not answer are left out.
std::vector<CudaDescription> DescribeCudaDevices(const CudaDriver* driver);

}  // namespace yoke
