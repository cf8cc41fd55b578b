// MeasureRates: by StepTimer, each a part of the time.
#include "measure/device_rates.h"

#include "base/clock.h"
#include "kernels/cuda/tf32.h"
#include "measure/square_product.h"
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
  const cuda::Tf32Scope scope(rounds);
  return SpeedOfProducts(device, DType::kF32, request);
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

}  // namespace yoke
