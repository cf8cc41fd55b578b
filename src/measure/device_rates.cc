// MeasureRates: by StepTimer, each a part of the time.
#include "measure/device_rates.h"

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "kernels/makers.h"
#include "measure/step_timer.h"

namespace yoke {
namespace {

constexpr double kOfCopies = 0.1, kOfProducts = 0.2;  // of the time, each

double SpeedOfCopies(const Buffer& to, const Buffer& from, Stream& stream, double seconds) {
  StepTimer timer([] {},
                  [&] {
                    stream.Copy(to.data(), from.data(), to.bytes());
                    stream.Wait();
                  });
  timer.Visit(seconds);
  return static_cast<double>(to.bytes()) / timer.Seconds();
}

/// Of its second run: the first one loads code.
double SecondsOf(const SquareProduct& product) {
  product.Run();
  const double began = Now();
  product.Run();
  return Now() - began;
}

double SpeedOfRoundedProducts(Device& device, const RatesRequest& request, bool rounds) {
  const Tf32Scope scope(rounds);
  return SpeedOfProducts(device, DType::kF32, request);
}

/// Numbers between -0.5 and 0.5; zeros would take less power, and so less time. They repeat.
Buffer RandomMatrix(int64_t count, DType type, Device& device) {
  const int64_t drawn = std::min(count, int64_t{1} << 16), bytes = SizeOf(type);
  const Buffer block(device.staging(), drawn * bytes);
  Random random{1};
  for (int64_t i = 0; i < drawn; ++i) {
    const auto value = static_cast<float>(random.Uniform() - 0.5);
    type == DType::kBf16 ? void(block.As<Bf16>()[i] = Bf16(value))
                         : void(block.As<float>()[i] = value);
  }
  Buffer matrix(device, count * bytes);
  for (int64_t at = 0; at < count; at += drawn)
    device.stream().Copy(matrix.As<char>() + at * bytes, block.data(),
                         std::min(drawn, count - at) * bytes);
  device.stream().Wait();
  return matrix;
}

}  // namespace

double SpeedOfProducts(Device& device, DType type, const RatesRequest& request) {
  constexpr double kLong = 1e-3;
  int64_t size = 128;
  while (2 * size <= request.largest && SecondsOf({size, type, device}) < kLong) size *= 2;
  const SquareProduct product(size, type, device);
  StepTimer timer([] {}, [&] { product.Run(); });
  timer.Visit(kOfProducts * request.seconds);
  return product.Operations() / timer.Seconds();
}

DeviceRates MeasureRates(Device& device, const RatesRequest& request) {
  const double seconds = kOfCopies * request.seconds;
  DeviceRates rates;
  {
    const Buffer first(device, request.bytes), second(device, request.bytes);
    rates.memory = 2 * SpeedOfCopies(second, first, device.stream(), seconds);
  }
  {
    const Buffer here(device.staging(), request.bytes / 4), there(device, here.bytes());
    rates.to_device = SpeedOfCopies(there, here, device.stream(), seconds);
    rates.from_device = SpeedOfCopies(here, there, device.stream(), seconds);
  }
  rates.f32 = SpeedOfRoundedProducts(device, request, false);
  rates.tf32 = SpeedOfRoundedProducts(device, request, true);
  rates.bf16 = SpeedOfProducts(device, DType::kBf16, request);
  return rates;
}

SquareProduct::SquareProduct(int64_t size, DType type, Device& device)
    : size_(size),
      device_(device),
      kernel_(
          MakeLinear({.batch = size, .inputs = size, .outputs = size, .type = type, .bias = false},
                     {.device = &device, .stream = &device.stream()})),
      input_(RandomMatrix(size * size, type, device)),
      weight_(RandomMatrix(size * size, type, device)),
      output_(device, size * size * SizeOf(type)),
      scratch_(device, kernel_->scratch_bytes() + 64) {}

void SquareProduct::Run() const {
  kernel_->Forward({.input = input_.data(),
                    .weight = weight_.data(),
                    .output = output_.data(),
                    .scratch = scratch_.data()});
  device_.stream().Wait();
}

}  // namespace yoke
