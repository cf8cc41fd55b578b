// The GPUs of this machine as devices, by the CUDA runtime of this program.
#include "base/check.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/devices.h"

namespace yoke::device {

DeviceEntry cuda() {
  return {.name = "cuda",
          .summary = "An NVIDIA GPU",
          .numbered = true,
          .usable = [] { return UsableCudaDevices(CudaDriverOfJobs()); },
          .make =
              [](int number, const DeviceSettings& /*settings*/) {
                const CudaDriver* const driver = CudaDriverOfJobs();
                Require(driver, "there is no device cuda:{}: {}", number, WhyNoCudaDevice(driver));
                return std::shared_ptr<Device>(NewCudaDevice(number, *driver));
              }};
}

}  // namespace yoke::device
