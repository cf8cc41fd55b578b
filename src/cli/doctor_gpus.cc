// CudaGpu: what the driver says of a GPU, and what it reaches.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "cli/doctor.h"
#include "train/number_format.h"

namespace yoke {
namespace {

/// "3,350 GB/s"
std::string Gigabytes(double bytes_per_second) {
  return fmt::format("{} GB/s", Count(std::llround(bytes_per_second / 1e9)));
}

std::string TextOf(const DeviceRates& rates) {
  return fmt::format(
      "; measured: memory {}, copies there {} and back {}, products {:.3g} Tflop/s in f32, {:.3g} "
      "in TF32 and {:.3g} in bf16",
      Gigabytes(rates.memory), Gigabytes(rates.to_device), Gigabytes(rates.from_device),
      rates.f32 / 1e12, rates.tf32 / 1e12, rates.bf16 / 1e12);
}

/// Two buffers, and then three matrices, that fit in what is free.
RatesRequest Fitting(RatesRequest request, int64_t free) {
  request.bytes = std::min(request.bytes, free / 4);
  request.largest = std::min(request.largest, static_cast<int64_t>(std::sqrt(double(free) / 16)));
  return request;
}

}  // namespace

std::vector<CudaGpu> FindCudaGpus(const CudaDriver* driver, const RatesRequest& request) {
  std::vector<CudaGpu> found;
  for (const CudaDescription& says : DescribeCudaDevices(driver)) {
    CudaGpu& gpu = found.emplace_back(CudaGpu{says});
    if (!says.why_not.empty()) continue;
    const int number = std::stoi(says.device.substr(says.device.find(':') + 1));
    try {
      gpu.rates = MeasureRates(*NewCudaDevice(number, *driver), Fitting(request, says.free));
    } catch (const Error& error) {
      gpu.not_measured = error.what();
    }
  }
  return found;
}

/// "cuda:0 NVIDIA H100: 80 GiB, 79 GiB free, 132 multiprocessors at 1.98 GHz, memory at 3,350 GB/s"
std::string CudaGpu::Text() const {
  const CudaProperties& gpu = says.properties;
  std::string text = fmt::format("{} {}: {}, {} free", says.device, gpu.name,
                                 BinaryBytes(double(says.total)), BinaryBytes(double(says.free)));
  if (gpu.multiprocessors > 0)
    text += fmt::format(", {} multiprocessors", Count(gpu.multiprocessors));
  if (gpu.clock_hertz > 0) text += fmt::format(" at {:.3g} GHz", gpu.clock_hertz / 1e9);
  if (gpu.bytes_per_second > 0) text += ", memory at " + Gigabytes(gpu.bytes_per_second);
  if (rates.memory > 0) text += TextOf(rates);
  if (!not_measured.empty()) text += "; not measured: " + not_measured;
  if (!says.why_not.empty()) text += "; not usable: " + says.why_not;
  return text;
}

Table CudaGpu::Row() const {
  return {{"device", says.device},
          {"name", std::string(says.properties.name)},
          {"memory", says.total},
          {"free", says.free},
          {"multiprocessors", says.properties.multiprocessors},
          {"clock_hertz", says.properties.clock_hertz},
          {"bytes_per_second", says.properties.bytes_per_second},
          {"not_usable", says.why_not},
          {"not_measured", not_measured},
          {"measured", Table{{"memory_bytes_per_second", rates.memory},
                             {"to_device_bytes_per_second", rates.to_device},
                             {"from_device_bytes_per_second", rates.from_device},
                             {"f32_operations_per_second", rates.f32},
                             {"tf32_operations_per_second", rates.tf32},
                             {"bf16_operations_per_second", rates.bf16}}}};
}

}  // namespace yoke
