// What the benchmarks measure with: how often something can be done a second, the arithmetic peak
// it is compared with, random values, peak memory.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/random.h"
#include "kernels/threads.h"
#include "measure/device_rates.h"
#include "tensor/device.h"

namespace yoke {

/// Calls a second during `seconds`, after a fifth of that as warm-up.
inline double Rate(double seconds, const std::function<void()>& call) {
  for (double end = Now() + seconds / 5; Now() < end;) call();
  int64_t calls = 0;
  const double start = Now();
  double elapsed = 0;
  for (; elapsed < seconds; elapsed = Now() - start, ++calls) call();
  return static_cast<double>(calls) / elapsed;
}

/// Peak memory of this process.
inline int64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

/// Memory of `count` elements between -scale / 2 and scale / 2.
inline Buffer RandomValues(int64_t count, double scale, uint64_t seed, DType type = DType::kF32) {
  Buffer values(Cpu(), count * SizeOf(type) + 64);
#pragma omp parallel for schedule(static)
  for (int64_t block = 0; block < (count + 4095) / 4096; ++block) {
    Random random{seed, static_cast<uint64_t>(block)};
    for (int64_t i = block * 4096; i < std::min(count, block * 4096 + 4096); ++i) {
      const auto value = static_cast<float>(scale * (random.Uniform() - 0.5));
      type == DType::kBf16 ? void(values.As<Bf16>()[i] = Bf16(value))
                           : void(values.As<float>()[i] = value);
    }
  }
  return values;
}

/// Operations a second of a 2048^3 multiplication in f32 or bf16: the best of five tries. 0 for
/// bf16 where the processor has no instructions for it: the loops would take minutes.
inline double GemmPeak(DType type = DType::kF32) {
  if (type == DType::kBf16 && !DescribeKernelLibrary().fast_bf16) return 0;
  const SquareProduct product(2048, type);
  double best = 0;
  for (int i = 0; i < 5; ++i) best = std::max(best, Rate(0.1, [&] { product.Run(); }));
  return best * product.Operations();
}

}  // namespace yoke
